// `assay doctor` and workers on good and broken installations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// The doctor's line that begins with these two words.
std::string finding(const std::string& output, const std::string& state, const std::string& what) {
  std::size_t at = 0;
  while (at < output.size()) {
    const std::size_t end = output.find('\n', at);
    const std::string line = output.substr(at, end - at);
    if (line.starts_with(state) && line.find(" " + what + " ") != std::string::npos) return line;
    at = end == std::string::npos ? output.size() : end + 1;
  }
  return "";
}

// A separate installation whose recorded build names these compilers.
std::string built_with(const Folder& folder, const std::string& cpp, const std::string& cuda) {
  const std::string program = install_alone(folder, "");
  auto build = nlohmann::json::parse(std::ifstream(ASSAY_BUILD_DIR "/lib/assay/plugin_build.json"));
  build["compiler"] = cpp;
  build["cuda_compiler"] = cuda;
  folder.write("lib/assay/plugin_build.json", build.dump());
  return program;
}

std::string script(const Folder& folder, const std::string& name, const std::string& says) {
  const std::string path = folder.write(name, "#!/bin/sh\necho " + says + "\n");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST(Doctor, AsksTheCompilersThatBuiltAssayWhateverPathSays) {
  const Folder folder;
  const std::string cpp = script(folder, "a-compiler", "compiler 12"),
                    nvcc = script(folder, "a-cuda-compiler", "cuda 13");
  const std::string assay = built_with(folder, cpp, nvcc);
  const Ended ended = program(folder.path(), {"env", "PATH=/nowhere", assay, "doctor"});
  EXPECT_THAT(finding(ended.output, "ok", "c++"), HasSubstr("compiler 12 (" + cpp + ")"))
      << ended.output << ended.errors;
  EXPECT_THAT(finding(ended.output, "ok", "nvcc"), HasSubstr("cuda 13 (" + nvcc + ")"));
  EXPECT_THAT(finding(ended.output, "absent", "gnuplot"), HasSubstr("reports come without plots"));
}

TEST(Doctor, SaysThatACompilerIsGoneOrNeverWas) {
  const Folder gone;
  const std::string compiler = script(gone, "c++", "compiler 12");
  const Ended without = program(gone.path(), {built_with(gone, compiler, "/gone/nvcc"), "doctor"});
  EXPECT_THAT(
      finding(without.output, "absent", "nvcc"),
      HasSubstr("/gone/nvcc, which built assay, cannot be run: CUDA plugins cannot be built"))
      << without.output;
  const Folder none;
  const Ended never = program(none.path(), {built_with(none, compiler, ""), "doctor"});
  EXPECT_THAT(finding(never.output, "absent", "nvcc"), HasSubstr("built without it"))
      << never.output;
}

TEST(Doctor, SaysHowToPutBackALibTorchThatWasDeletedWithTheCache) {
  const Folder folder;
  const std::string compiler = script(folder, "c++", "compiler 12");
  const std::string assay = built_with(folder, compiler, "");
  auto build = nlohmann::json::parse(std::ifstream(folder.path() / "lib/assay/plugin_build.json"));
  build["system_includes"] = {"/gone/.cache/assay/torch-2.11.0-cpu/torch/include"};
  folder.write("lib/assay/plugin_build.json", build.dump());
  const Ended ended = program(folder.path(), {assay, "doctor"});
  EXPECT_EQ(ended.exit_code, 3);
  const std::string line = finding(ended.output, "missing", "LibTorch");
  EXPECT_THAT(line, HasSubstr("/gone/.cache/assay/torch-2.11.0-cpu/torch/include, which this assay "
                              "was built with, is gone"));
  EXPECT_THAT(line, HasSubstr("`ASSAY_TORCH=cpu tools/setup`"));
}

TEST(Worker, SaysWhyItsLibraryCannotBeLoaded) {
  const Folder folder;
  const Ended ended =
      program(folder.path(), {install_alone(folder, "no library at all\n"), "worker", "catalogue"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.errors, HasSubstr("libassay_worker.so: "));
  EXPECT_THAT(ended.errors,
              ::testing::AnyOf(HasSubstr("file too short"), HasSubstr("invalid ELF header")));
  EXPECT_THAT(ended.errors, Not(HasSubstr("Bad file descriptor")));
}

}  // namespace
}  // namespace assay::test
