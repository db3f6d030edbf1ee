#include "run/plugins/plugin_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace assay::run {

namespace {

void append_words(Words& words, const Words& more) {
  for (const std::string& word : more) {
    if (!word.empty()) words.push_back(word);
  }
}

// Whether a source includes LibTorch, itself or through the plugin's own headers. Reading even the
// precompiled header takes longer than compiling a file without it.
class TorchSearch {
 public:
  explicit TorchSearch(const PluginSources& sources) : sources_(sources) {}

  bool reaches(const std::filesystem::path& file) {
    if (!seen_.insert(file).second) return false;
    static const std::regex include(R"re(#\s*include\s*[<"]([^>"]+))re");
    const std::string text = read_file(file.string()).value_or("");
    for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
      const std::string name = (*at)[1];
      for (const char* folder : {"ATen/", "torch/", "c10/", "assay/"}) {
        if (name.starts_with(folder)) return true;
      }
      if (is_reached_through(name, file.parent_path())) return true;
    }
    return false;
  }

 private:
  bool is_reached_through(const std::string& name, const std::filesystem::path& beside) {
    std::vector<std::filesystem::path> folders = {beside, sources_.root};
    folders.insert(folders.end(), sources_.includes.begin(), sources_.includes.end());
    return std::any_of(folders.begin(), folders.end(), [&](const std::filesystem::path& folder) {
      std::error_code ignored;
      const auto header = (folder / name).lexically_normal();
      return !folder.empty() && std::filesystem::is_regular_file(header, ignored) &&
             reaches(header);
    });
  }

  const PluginSources& sources_;
  std::set<std::filesystem::path> seen_;
};

}  // namespace

Result<PluginBuild> read_plugin_build(const Installation& installation) {
  const auto folder = installation.worker_library.parent_path() / "assay";
  const auto text = read_file((folder / "plugin_build.json").string());
  if (!text) {
    return fail(ExitCode::machine_lacks, "this assay cannot build plugins: " + text.error().text(),
                "it was built without LibTorch, or installed incompletely");
  }
  const auto path = [&](const std::string& name) {
    return name.empty() ? name : (folder / name).lexically_normal().string();
  };
  const auto paths = [&](Words names) {
    for (std::string& name : names) name = path(name);
    return names;
  };
  try {
    const auto json = nlohmann::json::parse(*text);
    return PluginBuild{*text,
                       json.at("fingerprint"),
                       json.at("compiler"),
                       json.at("cuda_compiler"),
                       json.at("flags"),
                       json.at("cuda_flags"),
                       json.at("definitions"),
                       paths(json.at("includes")),
                       json.at("system_includes"),
                       json.at("link"),
                       path(json.at("precompiled_header")),
                       path(json.at("worker")),
                       json.at("cmake"),
                       json.at("generator"),
                       json.at("make_program"),
                       path(json.at("package"))};
  } catch (const nlohmann::json::exception& problem) {
    return fail(
        ExitCode::machine_lacks,
        fmt::format("{} is damaged: {}", (folder / "plugin_build.json").string(), problem.what()),
        "build or install assay again");
  }
}

Words compile_command(const PluginBuild& build, const PluginSources& sources,
                      const std::filesystem::path& source, const std::filesystem::path& object,
                      const std::filesystem::path& dependencies) {
  const bool cuda = source.extension() == ".cu";
  Words words = {cuda ? build.cuda_compiler : build.compiler, "-std=c++20"};
  append_words(words, build.flags);
  if (cuda) {
    append_words(words, build.cuda_flags);
    append_words(words, {"-ccbin", build.compiler, "-Xcompiler=-fPIC,-fvisibility=hidden"});
  } else {
    append_words(words, {"-fPIC", "-fvisibility=hidden"});
    std::error_code ignored;
    if (std::filesystem::exists(build.precompiled_header + ".gch", ignored) &&
        TorchSearch(sources).reaches(source)) {
      append_words(words, {"-include", build.precompiled_header});
    }
  }
  append_words(words, sources.options);
  if (cuda) append_words(words, sources.cuda_options);
  for (const auto* list : {&build.definitions, &sources.definitions}) {
    for (const auto& definition : *list) words.push_back("-D" + definition);
  }
  words.push_back(fmt::format("-DASSAY_BUILD_FINGERPRINT=\"{}\"", build.fingerprint));
  if (!sources.root.empty()) {
    // Not -I: its limits.h would hide the system's.
    const std::string root = sources.root.string();
    append_words(words, cuda ? Words{"-Xcompiler=-iquote," + root} : Words{"-iquote", root});
  }
  for (const auto& folder : sources.includes) append_words(words, {"-I", folder.string()});
  for (const auto& folder : build.includes) append_words(words, {"-I", folder});
  for (const auto& folder : build.system_includes) append_words(words, {"-isystem", folder});
  append_words(
      words, {"-MMD", "-MF", dependencies.string(), "-c", source.string(), "-o", object.string()});
  return words;
}

Words link_command(const PluginBuild& build, const PluginSources& sources,
                   const std::vector<std::filesystem::path>& objects,
                   const std::filesystem::path& library) {
  Words words = {build.compiler, "-shared"};
  for (const auto& object : objects) words.push_back(object.string());
  append_words(words, {"-o", library.string(), build.worker});
  append_words(words, sources.link);
  append_words(words, build.link);
  return words;
}

}  // namespace assay::run
