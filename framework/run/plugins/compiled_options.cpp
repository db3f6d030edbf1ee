#include "run/plugins/compiled_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/output.h"
#include "base/text.h"
#include "run/plugins/build_libraries.h"
#include "run/plugins/compiler_messages.h"

namespace assay::run {

namespace {

std::string title_of(const CompiledNeed& need) {
  return fmt::format("{}/{} with {}", need.plugin->kind, need.plugin->name,
                     catalogue::to_text(need.values));
}

CompiledLibrary not_here(const CompiledNeed& need, const std::string& why) {
  return {"", Outcome::skipped,
          fmt::format("no library of {} is built for {}: {}", need.plugin->name,
                      catalogue::to_text(need.values), why)};
}

CompiledLibrary concluded(const CompiledNeed& need, const PluginSources& sources,
                          const BuiltLibrary& built) {
  if (!built.file.empty()) return {built.file.string(), Outcome::ok};
  CompiledLibrary library = not_here(need, built.lacking);
  if (built.lacking.empty() && built.messages.empty()) {
    library = not_here(need, "its building was stopped");
  } else if (built.lacking.empty()) {
    const BuildProblem problem = problem_in(built.messages);
    library.outcome = problem.outcome;
    library.reason = fmt::format(
        "{} {} {}: {}", need.plugin->name,
        problem.outcome == Outcome::unsupported ? "cannot be built with" : "does not build with",
        catalogue::to_text(need.values), problem.reason);
  }
  for (const auto& file : sources.files()) library.sources.push_back(file.string());
  return library;
}

}  // namespace

std::optional<std::string> cannot_build(const Installation& installation,
                                        const catalogue::PluginInfo& plugin) {
  const auto build = read_plugin_build(installation);
  if (!build) return build.error().diagnostics.front().message;
  const auto sources = sources_of_library(plugin.file);
  if (!sources) return sources.error().diagnostics.front().message;
  for (const auto& source : sources->sources) {
    const std::string& compiler =
        source.extension() == ".cu" ? build->cuda_compiler : build->compiler;
    if (compiler.empty()) return source.filename().string() + " needs nvcc, which is not here";
    std::error_code ignored;
    if (compiler.starts_with("/") && !std::filesystem::exists(compiler, ignored)) {
      return "the compiler " + compiler + " is not there";
    }
  }
  return {};
}

CompiledLibraries build_compiled(const Installation& installation,
                                 const std::vector<CompiledNeed>& needs,
                                 const std::function<bool()>& stop) {
  CompiledLibraries libraries;
  const auto build = read_plugin_build(installation);
  std::vector<const CompiledNeed*> to_build;
  std::vector<LibraryToBuild> wanted;
  for (const CompiledNeed& need : needs) {
    auto sources = build ? sources_of_library(need.plugin->file) : tl::unexpected(build.error());
    if (!sources) {
      libraries.add(need, not_here(need, sources.error().diagnostics.front().message));
      continue;
    }
    for (std::string& definition : catalogue::definitions(need.values)) {
      sources->definitions.push_back(std::move(definition));
    }
    to_build.push_back(&need);
    wanted.push_back({std::move(*sources), title_of(need)});
  }
  if (!build) return libraries;
  std::size_t begun = 0;
  BuildListener listener{stop, [&](const std::string& title) {
                           print_error("building {} ({} of {})\n", title, ++begun, wanted.size());
                         }};
  const auto built = build_libraries(*build, wanted, listener);
  for (std::size_t i = 0; i < built.size(); ++i) {
    print_error("{}", built[i].messages);
    libraries.add(*to_build[i], concluded(*to_build[i], wanted[i].sources, built[i]));
  }
  return libraries;
}

}  // namespace assay::run
