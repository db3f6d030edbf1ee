// tests/config/shipped_plugins.json says what the plugins of this build declare.

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "support/program.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;

nlohmann::json described_by_the_program() {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"list", "plugins"});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  for (const auto& entry : fs::directory_iterator(folder.path() / "cache" / "catalogues")) {
    if (entry.path().extension() != ".json") continue;
    return nlohmann::json::parse(*read_file(entry.path().string()));
  }
  return nullptr;
}

TEST(ShippedPlugins, AreAsWrittenForTestsWithoutThem) {
  nlohmann::json described = described_by_the_program();
  const auto catalogue = catalogue::catalogue_from_json(described);
  ASSERT_TRUE(catalogue) << catalogue.error().text();
  if (!catalogue->uses_cuda()) GTEST_SKIP() << "a build without CUDA lacks some of them";
  described["fingerprint"] = "shipped";
  described["versions"] = nlohmann::json::object();
  for (nlohmann::json& plugin : described["plugins"]) {
    plugin["file"] = fs::path(plugin["file"].get<std::string>()).filename().string();
  }
  const std::string file = ASSAY_SOURCE_DIR "/tests/config/shipped_plugins.json";
  const std::string text = described.dump(1) + "\n";
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file(file, text));
  }
  EXPECT_TRUE(*read_file(file) == text) << "run tools/docs";
}

}  // namespace
}  // namespace assay::test
