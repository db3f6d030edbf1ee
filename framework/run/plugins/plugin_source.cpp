#include "run/plugins/plugin_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/text.h"
#include "run/process/process.h"

namespace assay::run {

namespace {

using Words = std::vector<std::string>;

// The build that CMake recorded (cmake/AssayInstall.cmake).
struct PluginBuild {
  std::string text;  // of the file: part of the key of a cached library
  std::string fingerprint, compiler, cuda_compiler;
  Words flags, cuda_flags, definitions, system_includes, link;
  std::string include, precompiled_header, worker;
};

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
  try {
    const auto json = nlohmann::json::parse(*text);
    return PluginBuild{*text,
                       json.at("fingerprint"),
                       json.at("compiler"),
                       json.at("cuda_compiler"),
                       json.at("flags"),
                       json.at("cuda_flags"),
                       json.at("definitions"),
                       json.at("system_includes"),
                       json.at("link"),
                       path(json.at("include")),
                       path(json.at("precompiled_header")),
                       path(json.at("worker"))};
  } catch (const nlohmann::json::exception& problem) {
    return fail(
        ExitCode::machine_lacks,
        fmt::format("{} is damaged: {}", (folder / "plugin_build.json").string(), problem.what()),
        "build or install assay again");
  }
}

void append(Words& words, const Words& more) {
  for (const std::string& word : more) {
    if (!word.empty()) words.push_back(word);
  }
}

Words compile_command(const PluginBuild& build, const std::filesystem::path& source,
                      const std::filesystem::path& object,
                      const std::filesystem::path& dependencies) {
  const bool cuda = source.extension() == ".cu";
  Words words = {cuda ? build.cuda_compiler : build.compiler, "-std=c++20"};
  append(words, build.flags);
  if (cuda) {
    append(words, build.cuda_flags);
    append(words, {"-ccbin", build.compiler, "-Xcompiler=-fPIC,-fvisibility=hidden"});
  } else {
    append(words, {"-fPIC", "-fvisibility=hidden"});
    std::error_code ignored;
    if (std::filesystem::exists(build.precompiled_header + ".gch", ignored)) {
      append(words, {"-include", build.precompiled_header});
    }
  }
  for (const auto& definition : build.definitions) words.push_back("-D" + definition);
  words.push_back(fmt::format("-DASSAY_BUILD_FINGERPRINT=\"{}\"", build.fingerprint));
  append(words, {"-I", build.include});
  for (const auto& folder : build.system_includes) append(words, {"-isystem", folder});
  append(words,
         {"-MMD", "-MF", dependencies.string(), "-c", source.string(), "-o", object.string()});
  return words;
}

Words link_command(const PluginBuild& build, const std::filesystem::path& object,
                   const std::filesystem::path& library) {
  Words words = {build.compiler, "-shared", object.string(), "-o", library.string(), build.worker};
  append(words, build.link);
  return words;
}

Result<void> execute(const Words& words, const std::filesystem::path& source) {
  Process::Command command;
  command.arguments = words;
  const auto done = capture(command);
  if (!done) {
    return fail(ExitCode::machine_lacks, done.error().text(),
                "building a plugin needs the compiler that built assay; `assay doctor` tells more");
  }
  print_error("{}{}", done->output, done->errors);
  if (done->ok()) return {};
  return tl::unexpected(Error{
      ExitCode::bad_input,
      {{{source.string()}, "the plugin does not build; see the compiler's messages above", ""}}});
}

std::vector<std::filesystem::path> prerequisites(const std::string& make_rule) {
  std::vector<std::filesystem::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.emplace_back(word);
    word.clear();
  };
  for (std::size_t i = std::min(make_rule.find(": "), make_rule.size() - 1) + 1;
       i < make_rule.size(); ++i) {
    if (make_rule[i] == '\\' && i + 1 < make_rule.size()) {
      if (make_rule[++i] != '\n') word += make_rule[i];
    } else if (make_rule[i] == ' ' || make_rule[i] == '\n') {
      end_word();
    } else {
      word += make_rule[i];
    }
  }
  end_word();
  return files;
}

// The cache's entry for one source text: the library and the hashes of its prerequisites.
class CachedLibrary {
 public:
  CachedLibrary(const std::filesystem::path& source, const std::string& source_text,
                const PluginBuild& build) {
    const std::string key =
        sha256_hex(fmt::format("{}\n{}\n{}", build.text, source.string(), source_text));
    folder_ = cache_folder() / "plugins" / key.substr(0, 24);
    library_ = folder_ / (source.stem().string() + ".so");
  }

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& library() const { return library_; }

  bool current() const {
    std::error_code ignored;
    if (!std::filesystem::exists(library_, ignored)) return false;
    const auto made_from = read_file(manifest().string());
    if (!made_from) return false;
    for (const std::string& line : split(*made_from, '\n')) {
      const std::size_t space = line.find(' ');
      if (space != std::string::npos && hash(line.substr(space + 1)) != line.substr(0, space)) {
        return false;
      }
    }
    return true;
  }

  // started: the time the compiler started.
  Result<void> keep(const std::filesystem::path& built,
                    const std::vector<std::filesystem::path>& made_from,
                    std::filesystem::file_time_type started) const {
    // Remove the old list first and write the new one last: after an interruption no library is
    // taken for one made from other files.
    std::error_code error;
    std::filesystem::remove(manifest(), error);
    std::filesystem::rename(built, library_, error);
    if (error) {
      return fail(ExitCode::machine_lacks,
                  fmt::format("{} cannot be written: {}", library_.string(), error.message()));
    }
    std::string lines;
    for (const auto& file : made_from) {
      // The compiler may not have read an edit made while it ran.
      if (std::filesystem::last_write_time(file, error) > started) return {};
      lines += hash(file) + " " + file.string() + "\n";
    }
    return write_file(manifest().string(), lines);
  }

 private:
  std::filesystem::path manifest() const { return folder_ / "made_from"; }

  static std::string hash(const std::filesystem::path& file) {
    const auto text = read_file(file.string());
    return text ? sha256_hex(*text) : "missing";
  }

  std::filesystem::path folder_;
  std::filesystem::path library_;
};

}  // namespace

bool is_plugin_source(const std::filesystem::path& file) {
  const auto extension = file.extension();
  return extension == ".cpp" || extension == ".cc" || extension == ".cxx" || extension == ".cu";
}

Result<PluginCompilers> plugin_compilers(const Installation& installation) {
  const auto build = read_plugin_build(installation);
  if (!build) return tl::unexpected(build.error());
  return PluginCompilers{build->compiler, build->cuda_compiler};
}

Result<std::filesystem::path> build_plugin(const Installation& installation,
                                           const std::filesystem::path& source) {
  const auto build = read_plugin_build(installation);
  if (!build) return tl::unexpected(build.error());
  const auto text = read_file(source.string());
  if (!text) return tl::unexpected(text.error());
  const CachedLibrary cached(source, *text, *build);
  if (cached.current()) return cached.library();
  if (source.extension() == ".cu" && build->cuda_compiler.empty()) {
    return fail(ExitCode::machine_lacks,
                source.string() + " needs nvcc, which this assay's build did not find",
                "`assay doctor` says how to get it");
  }
  std::error_code error;
  std::filesystem::create_directories(cached.folder(), error);
  print_error("building {}\n", source.string());

  // The process id keeps two builds at once apart.
  const auto scratch = [&](const char* extension) {
    return cached.folder() / fmt::format("{}{}", ::getpid(), extension);
  };
  const auto started = std::filesystem::file_time_type::clock::now();
  const auto object = scratch(".o"), dependencies = scratch(".d"), library = scratch(".so");
  auto done = execute(compile_command(*build, source, object, dependencies), source);
  if (done) done = execute(link_command(*build, object, library), source);
  if (done) {
    done =
        cached.keep(library, prerequisites(read_file(dependencies.string()).value_or("")), started);
  }
  for (const auto& file : {object, dependencies, library}) std::filesystem::remove(file, error);
  if (!done) return tl::unexpected(done.error());
  return cached.library();
}

}  // namespace assay::run
