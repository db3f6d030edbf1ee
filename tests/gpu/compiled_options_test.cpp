// A plugin of four .cu files, with an option that is compiled in: built by nvcc, run by assay.

#include <ATen/Context.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "plugins/support.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Printed {
  int code;
  std::string text;
};

Printed shell(const std::string& command) {
  Printed printed = {-1, {}};
  std::FILE* stream = ::popen((command + " 2>&1").c_str(), "r");
  if (stream == nullptr) return printed;
  char bytes[4096];
  for (std::size_t count; (count = std::fread(bytes, 1, sizeof bytes, stream)) > 0;) {
    printed.text.append(bytes, count);
  }
  printed.code = ::pclose(stream);
  return printed;
}

class GpuCompiledOptions : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
#ifndef ASSAY_TEST_KERNELS
    GTEST_SKIP() << "this build has no nvcc";
#endif
    fs::create_directories(folder_);
    std::ofstream(folder_ / "rows.yaml")
        << "experiment: rows\n"
           "workload: attention\n"
           "matrix:\n"
           "  attention: [{tiled_cuda: {rows: [1, 2, 4, 8, 64, 1024]}}]\n"
           "fixed: {batch: 2, heads: 2, seq_len: 257, d_head: 64, precision: fp32, device: cuda}\n"
           "measure: {passes: [inference], samples: 5}\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Printed assay(const std::string& words) const {
    return shell("cd " + folder_.string() + " && ASSAY_CACHE=" + (folder_ / "cache").string() +
                 " " + test::build_folder() + "/bin/assay " + words);
  }

  const fs::path folder_ = fs::temp_directory_path() / ("assay-rows-" + std::to_string(::getpid()));
  const std::string plugin_ = " --plugin " ASSAY_SOURCE_DIR "/tests/fixtures/tiled_cuda";
};

TEST_F(GpuCompiledOptions, AreBuiltByNvccForTheValuesThatCasesAskFor) {
  const Printed first = assay("run rows.yaml" + plugin_);
  std::map<int, nlohmann::json> cases;
  std::istringstream lines(assay("export latest").text);
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("case") && json["case"].contains("attention.rows")) {
      cases[json["case"]["attention.rows"]] = json;
    }
  }
  ASSERT_EQ(cases.size(), 6u) << first.text;
  for (const int rows : {1, 2, 4, 8}) {
    EXPECT_EQ(cases[rows]["outcome"], "ok") << rows << ": " << cases[rows]["reason"];
  }
  // 64 warps are 2048 threads; CUDA has at most 1024 in a block.
  EXPECT_EQ(cases[64]["outcome"], "unsupported");
  EXPECT_NE(cases[64]["reason"].get<std::string>().find(
                "threads a block: it needs 2048, the limit is 1024"),
            std::string::npos)
      << cases[64]["reason"];
  // 1024 heads of 128 floats are 524,288 bytes, more than any GPU's shared memory.
  EXPECT_EQ(cases[1024]["outcome"], "unsupported");
  EXPECT_NE(cases[1024]["reason"].get<std::string>().find(
                "shared memory: it needs 524288 bytes, the limit is "),
            std::string::npos)
      << cases[1024]["reason"];

  const Printed second = assay("run rows.yaml --filter 'attention.rows <= 64'" + plugin_);
  EXPECT_EQ(second.text.find("building"), std::string::npos) << second.text;
  const Printed checked = assay("check attention/tiled_cuda --set rows=8 --device cuda" + plugin_);
  EXPECT_EQ(checked.code, 0) << checked.text;
}

}  // namespace
}  // namespace assay
