// `assay run --under`: a stand-in for nsys and ncu, which starts what it is given and leaves a
// report that says how it was called.

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/exported.h"
#include "support/folder.h"
#include "support/program.h"

namespace assay::test {
namespace {

class Under : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.path() / "bin");
    experiment_ = folder_.write("copies.yaml",
                                "experiment: copies\n"
                                "workload: copy\n"
                                "matrix: {size: [1 MiB, 2 MiB]}\n"
                                "fixed: {device: cpu}\n"
                                "measure: {samples: 2, warmup: 1}\n");
  }

  void stand_in(const std::string& name, const std::string& option) const {
    const std::string file = folder_.write("bin/" + name,
                                           "#!/bin/sh\n"
                                           "all=\"$*\"\n"
                                           "while [ \"${1##*/}\" != assay ]; do\n"
                                           "  case $1 in " +
                                               option +
                                               " esac\n"
                                               "  shift\n"
                                               "done\n"
                                               "\"$@\"\n"
                                               "code=$?\n"
                                               "[ -n \"$SILENT\" ] || echo \"$all, ended $code\" > "
                                               "$report." +
                                               name + "-rep\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  Ended run(const std::vector<std::string>& words, const std::string& set = "ASSAY_TEST=1") const {
    std::vector<std::string> all = {
        "env", "PATH=" + (folder_.path() / "bin").string() + ":" + std::getenv("PATH"),
        set,   ASSAY_BUILD_DIR "/bin/assay",
        "run", experiment_};
    all.insert(all.end(), words.begin(), words.end());
    return program(folder_.path(), all);
  }

  const Folder folder_;
  std::string experiment_;
  const std::string nsys_ = "--output=*) report=${1#--output=};;";
  const std::string ncu_ = "--export) report=$2;;";
};

TEST_F(Under, EachCaseLeavesItsReportAndNoTimes) {
  stand_in("nsys", nsys_);
  const Ended ended = run({"--under", "nsys"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("outcomes: 2 ok"), std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find(" ms"), std::string::npos) << ended.output;
  std::size_t reports = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_.path() / "results/copies-1")) {
    if (entry.path().filename() != "profile.nsys-rep") continue;
    ++reports;
    const std::string text =
        folder_.read(std::filesystem::relative(entry.path(), folder_.path()).string());
    EXPECT_TRUE(text.starts_with("profile --output=")) << text;
    EXPECT_NE(text.find("--trace=cuda,nvtx"), std::string::npos) << text;
    EXPECT_NE(text.find("worker serve, ended 0"), std::string::npos) << text;
  }
  EXPECT_EQ(reports, 2u);
  for (const nlohmann::json& line : exported(folder_.path())) {
    EXPECT_FALSE(line.contains("samples") && !line["samples"].empty()) << line;
  }
  // Neither is a time for `plan`, nor a run to be completed without the profiler.
  const Ended resumed = run({"--resume"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.errors.find("the run 'copies-1' was begun under nsys"), std::string::npos)
      << resumed.errors;
  EXPECT_EQ(run({"--resume", "--under", "nsys"}).exit_code, 0);
}

TEST_F(Under, AToolThatLeavesNothingIsSaid) {
  stand_in("ncu", ncu_);
  const Ended ended = run({"--under", "ncu"}, "SILENT=1");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.output.find("ncu left no report of the worker"), std::string::npos)
      << ended.output;
}

TEST_F(Under, RefusesWhatTheToolCannotTake) {
  stand_in("ncu", ncu_);
  folder_.write("copies.yaml",
                "experiment: reductions\n"
                "workload: collective\n"
                "fixed: {device: cpu, backend: gloo, world_size: 2, size: 1 KiB}\n");
  const Ended two = run({"--under", "ncu"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_NE(two.errors.find("--under ncu: case 1 has 2 ranks"), std::string::npos) << two.errors;
  const Ended other = run({"--under", "gprof"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.errors.find("--under: there is no 'gprof'"), std::string::npos) << other.errors;
  const Ended missing = run({"--under", "nsys"}, "PATH=/usr/bin:/bin");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.errors.find("nsys is not in PATH"), std::string::npos) << missing.errors;
  experiment_ = folder_.write("profiled.yaml",
                              "experiment: profiled\n"
                              "workload: copy\n"
                              "fixed: {device: cpu, size: 1 MiB}\n"
                              "observe: [kernels]\n");
  const Ended profiled = run({"--under", "ncu"});
  EXPECT_EQ(profiled.exit_code, 2);
  EXPECT_NE(profiled.errors.find("--under ncu and `observe: kernels` both profile case 1"),
            std::string::npos)
      << profiled.errors;
}

}  // namespace
}  // namespace assay::test
