#include "worker/process/plugin_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace assay::worker {

namespace {

std::filesystem::path whole_path(const std::filesystem::path& file) {
  return std::filesystem::absolute(file).lexically_normal();
}

tl::unexpected<Error> refuse(const std::filesystem::path& file, std::string message,
                             std::string hint) {
  return tl::unexpected(
      Error{ExitCode::machine_lacks, {{{file.string()}, std::move(message), std::move(hint)}}});
}

tl::unexpected<Error> refuse_build(const std::filesystem::path& file, std::string_view build) {
  return refuse(file,
                fmt::format("the plugin's build is '{}', this assay's is '{}'", build,
                            ASSAY_BUILD_FINGERPRINT),
                "build it again with the same compiler and LibTorch");
}

Result<void> check(const PluginLibrary& library, const std::filesystem::path& file) {
  if (library.struct_size != sizeof(PluginLibrary) || library.sdk_version != ASSAY_SDK_VERSION) {
    return refuse(file,
                  fmt::format("the plugin was built for SDK version {} (descriptor of {} bytes), "
                              "this assay has version {} ({} bytes)",
                              library.sdk_version, library.struct_size, ASSAY_SDK_VERSION,
                              sizeof(PluginLibrary)),
                  "build it again against this assay");
  }
  if (std::string_view(library.fingerprint) != ASSAY_BUILD_FINGERPRINT) {
    return refuse_build(file, library.fingerprint);
  }
  return {};
}

constexpr const char* entry_point = "assay_plugin_library";

// The fingerprint in a library's file, as cmake/AssayTorch.cmake writes it; "" if none.
std::string build_named_in(const std::filesystem::path& file) {
  constexpr std::string_view beginning("\0SDK ", 5);
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string text = std::move(bytes).str();
  for (std::size_t at = 0; (at = text.find(beginning, at)) != std::string::npos; ++at) {
    std::string found = text.c_str() + at + 1;
    if (found.find(", LibTorch ") != std::string::npos) return found;
  }
  return "";
}

tl::unexpected<Error> refuse_description(const std::filesystem::path& file,
                                         const PluginEntry& entry, const Status& status) {
  return refuse(
      file,
      fmt::format("{} '{}' cannot describe itself: {}", entry.kind, entry.name, status.reason), "");
}

// Options that are not given fit any value.
bool fits(const catalogue::CompiledValues& built_with, const Options& options) {
  return std::all_of(built_with.begin(), built_with.end(), [&](const auto& value) {
    const auto asked = options.find(value.first);
    return asked == options.end() || asked->second == value.second;
  });
}

}  // namespace

Result<const PluginLibrary*> PluginLoader::load(const std::filesystem::path& file) {
  const std::filesystem::path path = whole_path(file);
  for (auto loaded = loaded_.begin(); loaded != loaded_.end(); ++loaded) {
    if (loaded->file != path) continue;
    std::rotate(loaded, loaded + 1, loaded_.end());
    return loaded_.back().library;
  }
  // Read before loading: a library of another build must not run its constructors, and the loader's
  // message about a missing function would not name the cause.
  const std::string build = build_named_in(path);
  if (!build.empty() && build != ASSAY_BUILD_FINGERPRINT) return refuse_build(path, build);
  std::error_code error;
  boost::dll::shared_library* library = nullptr;
  const Status loading = guarded([&] {
    // Leaked on purpose: the destructor would unload the library.
    library = new boost::dll::shared_library(path.string(), boost::dll::load_mode::rtld_now, error);
  });
  if (!loading.ok()) {
    return refuse(path, "the plugin throws as it is loaded: " + loading.reason,
                  "the exception comes from a global object's constructor");
  }
  if (error) {
    // Boost reports only that loading failed; dlerror() says why.
    const char* why = ::dlerror();
    return refuse(
        path,
        fmt::format("the plugin cannot be loaded: {}", why == nullptr ? error.message() : why),
        "check that the file exists and that `ldd -r` finds what it needs");
  }
  if (!library->has(entry_point)) {
    return refuse(path, fmt::format("the library has no entry point '{}'", entry_point),
                  "end the source with ASSAY_PLUGIN(Type, \"name\", \"What it does.\")");
  }
  const PluginLibrary* descriptor = library->get<const PluginLibrary*()>(entry_point)();
  if (const auto checked = check(*descriptor, path); !checked) {
    return tl::unexpected(checked.error());
  }
  loaded_.push_back({path, descriptor, OwnCode(path.filename().string(), descriptor)});
  return descriptor;
}

std::string PluginLoader::written_to(const std::vector<std::string>& files) const {
  for (const std::string& file : files) {
    const auto loaded = std::ranges::find(loaded_, whole_path(file), &Loaded::file);
    if (loaded == loaded_.end()) continue;
    if (std::string part = loaded->code.changed(); !part.empty()) return part;
  }
  return {};
}

Result<const PluginEntry*> PluginLoader::find(std::string_view kind, std::string_view name,
                                              const Options& options) {
  std::vector<std::string> others;
  for (auto at = loaded_.rbegin(); at != loaded_.rend(); ++at) {
    Loaded& loaded = *at;
    for (std::size_t i = 0; i < loaded.library->entry_count; ++i) {
      const PluginEntry& entry = loaded.library->entries[i];
      if (kind != entry.kind || name != entry.name) continue;
      const auto values = built_with(loaded, entry);
      if (!values) return tl::unexpected(values.error());
      if (fits(**values, options)) return &entry;
      others.push_back(
          fmt::format("{} is built with {}", loaded.file.string(), catalogue::to_text(**values)));
    }
  }
  if (others.empty()) {
    return fail(ExitCode::bad_input, fmt::format("no plugin library holds {} '{}'", kind, name));
  }
  return fail(ExitCode::bad_input,
              fmt::format("no loaded library of {} '{}' is built with the values asked for: {}",
                          kind, name, join(others, "; ")),
              "its sources define ASSAY_OPTION_… only where it is not defined, and hand it to "
              "compiled_parameter()");
}

const PluginDescription& PluginLoader::description(const PluginEntry& entry) const {
  for (const Loaded& loaded : loaded_) {
    const auto known = loaded.described.find(&entry);
    if (known != loaded.described.end()) return known->second.description;
  }
  throw std::logic_error(
      fmt::format("{} '{}' was not found by this loader", entry.kind, entry.name));
}

Result<const catalogue::CompiledValues*> PluginLoader::built_with(Loaded& loaded,
                                                                  const PluginEntry& entry) {
  const auto known = loaded.described.find(&entry);
  if (known != loaded.described.end()) return &known->second.built_with;
  Described described;
  if (const Status status = entry.describe(described.description); !status.ok()) {
    return refuse_description(loaded.file, entry, status);
  }
  described.built_with = catalogue::built_with(described.description.parameters);
  return &(loaded.described[&entry] = std::move(described)).built_with;
}

Result<std::vector<catalogue::PluginInfo>> describe(const PluginLibrary& library,
                                                    const std::filesystem::path& file) {
  std::vector<catalogue::PluginInfo> plugins;
  for (std::size_t i = 0; i < library.entry_count; ++i) {
    const PluginEntry& entry = library.entries[i];
    PluginDescription description;
    if (const Status status = entry.describe(description); !status.ok()) {
      return refuse_description(file, entry, status);
    }
    catalogue::PluginInfo plugin;
    plugin.kind = entry.kind;
    plugin.name = entry.name;
    plugin.description = entry.description;
    plugin.file = file.string();
    plugin.parameters = std::move(description.parameters);
    plugin.memory_estimate = std::move(description.memory_estimate);
    plugin.look_memory_estimate = std::move(description.look_memory_estimate);
    plugin.devices = std::move(description.devices);
    plugin.uses = std::move(description.workload.uses);
    plugin.passes = std::move(description.workload.passes);
    plugin.default_passes = std::move(description.workload.default_passes);
    plugin.unclocked = std::move(description.workload.unclocked);
    plugin.metrics = std::move(description.workload.metrics);
    plugin.default_clock = std::move(description.workload.default_clock);
    plugins.push_back(std::move(plugin));
  }
  return plugins;
}

std::vector<std::filesystem::path> plugin_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace assay::worker
