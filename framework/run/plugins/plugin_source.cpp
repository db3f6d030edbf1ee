#include "run/plugins/plugin_source.h"

#include <fmt/format.h>

#include "base/output.h"
#include "run/plugins/build_libraries.h"
#include "run/plugins/cmake_project.h"

namespace assay::run {

namespace {

constexpr const char* needs_compiler =
    "building a plugin needs the compiler that built assay; `assay doctor` tells more";

Result<std::filesystem::path> build_from(const PluginBuild& build, const PluginSources& sources) {
  BuildListener listener;
  listener.begins = [](const std::string& title) { print_error("building {}\n", title); };
  const std::vector<LibraryToBuild> wanted(1, LibraryToBuild{sources, sources.given.string()});
  const BuiltLibrary built = build_libraries(build, wanted, listener).front();
  print_error("{}", built.messages);
  if (!built.file.empty()) return built.file;
  if (!built.lacking.empty()) {
    return tl::unexpected(Error{ExitCode::machine_lacks,
                                {{{sources.given.string()}, built.lacking, needs_compiler}}});
  }
  return tl::unexpected(Error{ExitCode::bad_input,
                              {{{sources.given.string()},
                                "the plugin does not build; see the compiler's messages above",
                                ""}}});
}

}  // namespace

Result<PluginCompilers> plugin_compilers(const Installation& installation) {
  const auto build = read_plugin_build(installation);
  if (!build) return tl::unexpected(build.error());
  return PluginCompilers{build->compiler, build->cuda_compiler};
}

Result<std::vector<std::filesystem::path>> build_plugin(const Installation& installation,
                                                        const std::filesystem::path& given) {
  const auto build = read_plugin_build(installation);
  if (!build) return tl::unexpected(build.error());
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(given, ignored);
  if (folder && std::filesystem::exists(given / "CMakeLists.txt", ignored)) {
    return build_project(*build, given);
  }
  const auto sources = folder ? sources_of_folder(given) : sources_of_file(given);
  if (!sources) return tl::unexpected(sources.error());
  auto library = build_from(*build, *sources);
  if (!library) return tl::unexpected(library.error());
  return std::vector{std::move(*library)};
}

}  // namespace assay::run
