#include "run/plugins/cmake_project.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/output.h"
#include "base/text.h"
#include "run/process/process.h"
#include "wire/channel.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

Words configure_command(const PluginBuild& build, const fs::path& folder, const fs::path& tree) {
  Words words = {build.cmake,
                 "-S",
                 folder.string(),
                 "-B",
                 tree.string(),
                 "-DCMAKE_BUILD_TYPE=Release",
                 "-DCMAKE_CXX_COMPILER=" + build.compiler,
                 "-Dassay_DIR=" + build.package};
  std::error_code ignored;
  if (fs::exists(build.make_program, ignored)) {
    words.insert(words.end(),
                 {"-G", build.generator, "-DCMAKE_MAKE_PROGRAM=" + build.make_program});
  }
  return words;
}

Result<void> run_cmake(const Words& words, const fs::path& folder) {
  const auto done = capture({words, {}, false});
  if (!done) {
    return fail(ExitCode::machine_lacks, done.error().text(),
                folder.string() + " has a CMakeLists.txt, which needs CMake");
  }
  if (done->ok()) return {};
  print_error("{}{}", done->output, done->errors);
  return tl::unexpected(
      Error{ExitCode::bad_input,
            {{{folder.string()}, "the project does not build; see CMake's messages above", ""}}});
}

std::map<fs::path, fs::file_time_type> libraries_in(const fs::path& tree) {
  std::map<fs::path, fs::file_time_type> libraries;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(tree / "plugins", ignored)) {
    if (entry.path().extension() == ".so") {
      libraries[entry.path()] = fs::last_write_time(entry.path(), ignored);
    }
  }
  return libraries;
}

}  // namespace

Result<std::vector<fs::path>> build_project(const PluginBuild& build, const fs::path& folder) {
  const fs::path tree =
      cache_folder() / "projects" / sha256_hex(build.text + "\n" + folder.string()).substr(0, 24);
  std::error_code error;
  fs::create_directories(tree, error);
  // One assay at a time builds in it.
  const wire::Descriptor lock(::open((tree / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!lock.open() || ::flock(lock.number(), LOCK_EX) != 0) {
    return fail(ExitCode::machine_lacks, fmt::format("{} cannot be written", tree.string()));
  }
  if (!fs::exists(tree / "CMakeCache.txt", error)) {
    print_error("building {} with CMake\n", folder.string());
    if (auto done = run_cmake(configure_command(build, folder, tree), folder); !done) {
      fs::remove(tree / "CMakeCache.txt", error);
      return tl::unexpected(done.error());
    }
  }
  const auto before = libraries_in(tree);
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  if (auto done = run_cmake(
          {build.cmake, "--build", tree.string(), "--parallel", std::to_string(cores)}, folder);
      !done) {
    return tl::unexpected(done.error());
  }
  std::vector<fs::path> files;
  for (const auto& [library, time] : libraries_in(tree)) {
    const auto was = before.find(library);
    if (!before.empty() && (was == before.end() || was->second != time)) {
      print_error("built {} again\n", library.filename().string());
    }
    files.push_back(library);
  }
  if (!files.empty()) return files;
  return tl::unexpected(Error{ExitCode::bad_input,
                              {{{(folder / "CMakeLists.txt").string()},
                                "the project makes no plugin",
                                "assay_add_plugin(KIND NAME SOURCES …) makes one"}}});
}

}  // namespace assay::run
