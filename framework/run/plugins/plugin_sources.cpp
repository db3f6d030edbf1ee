#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "run/plugins/plugin_build.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

fs::path description_of(const fs::path& library) {
  return fs::path(library).replace_extension(".build.json");
}

bool is_header(const fs::path& file) {
  const std::set<std::string> extensions = {".h",   ".hh",  ".hpp", ".hxx",
                                            ".cuh", ".inl", ".inc", ".ipp"};
  return extensions.contains(file.extension().string());
}

// A folder of no sources of the plugin itself.
bool is_set_apart(const fs::path& folder) {
  std::error_code ignored;
  return folder.filename().string().starts_with(".") ||
         fs::exists(folder / "CMakeCache.txt", ignored);
}

std::vector<std::string> in_text(const std::vector<fs::path>& paths) {
  std::vector<std::string> texts;
  for (const fs::path& path : paths) texts.push_back(path.string());
  return texts;
}

// CMake writes an empty list as one empty text.
Words words_in(const nlohmann::json& list) {
  Words words = list.get<Words>();
  std::erase(words, "");
  return words;
}

std::vector<fs::path> paths_in(const nlohmann::json& list, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const std::string& name : words_in(list)) {
    paths.push_back((folder / name).lexically_normal());
  }
  return paths;
}

}  // namespace

std::vector<fs::path> PluginSources::files() const {
  std::set<fs::path> files(sources.begin(), sources.end());
  std::set<fs::path> folders(includes.begin(), includes.end());
  for (const fs::path& source : sources) folders.insert(source.parent_path());
  if (!root.empty()) folders.insert(root);
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (is_header(entry.path())) files.insert(entry.path());
    }
  }
  return {files.begin(), files.end()};
}

bool is_plugin_source(const fs::path& file) {
  const auto extension = file.extension();
  return extension == ".cpp" || extension == ".cc" || extension == ".cxx" || extension == ".cu";
}

PluginSources sources_of_file(const fs::path& file) {
  PluginSources sources;
  sources.name = file.stem().string();
  sources.given = file;
  sources.sources = {file};
  return sources;
}

Result<PluginSources> sources_of_folder(const fs::path& folder) {
  PluginSources sources;
  sources.given = folder;
  sources.root = folder;
  const fs::path named = (folder / "").parent_path();  // without a slash at the end
  sources.name = named.filename().string();
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory(error) && is_set_apart(at->path())) at.disable_recursion_pending();
    if (at->is_regular_file(error) && is_plugin_source(at->path())) {
      sources.sources.push_back(at->path());
    }
  }
  if (error) {
    return tl::unexpected(Error{
        ExitCode::bad_input, {{{folder.string()}, "it cannot be read: " + error.message(), ""}}});
  }
  std::sort(sources.sources.begin(), sources.sources.end());
  if (!sources.sources.empty()) return sources;
  return tl::unexpected(
      Error{ExitCode::bad_input,
            {{{folder.string()},
              "the folder holds no plugin: neither a CMakeLists.txt nor a .cpp or .cu file",
              "`assay new KIND/NAME` writes a plugin to start from"}}});
}

Result<PluginSources> sources_of_library(const fs::path& library) {
  const fs::path file = description_of(library);
  const auto text = read_file(file.string());
  if (!text) {
    return fail(ExitCode::machine_lacks,
                fmt::format("nothing says how {} was built: {} is not there",
                            library.filename().string(), file.string()));
  }
  PluginSources sources;
  try {
    const auto json = nlohmann::json::parse(*text);
    const fs::path folder = file.parent_path();
    sources.name = library.stem().string();
    sources.sources = paths_in(json.at("sources"), folder);
    sources.includes = paths_in(json.at("includes"), folder);
    sources.options = words_in(json.at("options"));
    sources.cuda_options = words_in(json.at("cuda_options"));
    sources.definitions = words_in(json.at("definitions"));
    sources.link = words_in(json.at("link"));
    sources.root = json.value("root", "");
    sources.given = json.contains("given") ? fs::path(json.at("given").get<std::string>())
                                           : sources.sources.at(0).parent_path();
  } catch (const std::exception& problem) {
    return fail(ExitCode::machine_lacks,
                fmt::format("{} is damaged: {}", file.string(), problem.what()),
                "build the plugin again");
  }
  for (const fs::path& source : sources.sources) {
    std::error_code ignored;
    if (!fs::is_regular_file(source, ignored)) {
      return fail(ExitCode::machine_lacks,
                  fmt::format("its source {} is not there", source.string()));
    }
  }
  return sources;
}

Result<void> describe_sources(const fs::path& library, const PluginSources& sources) {
  const nlohmann::json json = {{"given", sources.given.string()},
                               {"sources", in_text(sources.sources)},
                               {"includes", in_text(sources.includes)},
                               {"root", sources.root.string()},
                               {"options", sources.options},
                               {"cuda_options", sources.cuda_options},
                               {"definitions", sources.definitions},
                               {"link", sources.link}};
  return write_file(description_of(library).string(), dump(json));
}

}  // namespace assay::run
