#include <dlfcn.h>

#include <filesystem>

#include "plugins/support.h"
#include "worker/process/plugin_loader.h"

namespace assay::worker {
namespace {

namespace fs = std::filesystem;

TEST(PluginLoader, NeverUnloadsALibrary) {
  // Under a name that no other test of this process has loaded.
  const fs::path folder =
      fs::temp_directory_path() / ("assay-loader-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const fs::path library = folder / "loaded_once.so";
  fs::copy_file(ASSAY_BUILD_DIR "/plugins/communication/none.so", library);
  const auto is_loaded = [&] {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
  };
  EXPECT_FALSE(is_loaded());
  const PluginLibrary* descriptor = nullptr;
  {
    PluginLoader loader;
    const auto loaded = loader.load(library);
    ASSERT_TRUE(loaded) << loaded.error().text();
    descriptor = *loaded;
  }
  ASSERT_TRUE(is_loaded()) << "though its loader is gone";
  EXPECT_STREQ(descriptor->entries[0].name, "none");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay::worker
