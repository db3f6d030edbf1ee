#include "run/plugins/process_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::run {
namespace {

TEST(ProcessJobs, RunBesideEachOtherUpToTheLimit) {
  int running = 0, most = 0, done = 0;
  std::vector<Job> jobs;
  for (int i = 0; i < 7; ++i) {
    Job job;
    job.words = {"true"};
    job.wanted = [&] {
      most = std::max(most, ++running);
      return true;
    };
    job.ended = [&](const Result<Captured>& ended) {
      --running;
      done += ended && ended->ok() ? 1 : 0;
      return std::vector<Job>();
    };
    jobs.push_back(std::move(job));
  }
  EXPECT_TRUE(run_jobs(std::move(jobs), 3, {}));
  EXPECT_EQ(most, 3);
  EXPECT_EQ(done, 7);
}

TEST(ProcessJobs, MayBeFollowedByMore) {
  std::string printed;
  Job second;
  second.words = {"echo", "second"};
  second.ended = [&](const Result<Captured>& ended) {
    printed += ended->output;
    return std::vector<Job>();
  };
  Job first;
  first.words = {"echo", "first"};
  first.ended = [&](const Result<Captured>& ended) {
    printed += ended->output;
    return std::vector<Job>{second};
  };
  EXPECT_TRUE(run_jobs({first}, 2, {}));
  EXPECT_EQ(printed, "first\nsecond\n");
}

TEST(ProcessJobs, AProgramThatIsNotThereIsAnError) {
  std::string message;
  Job job;
  job.words = {"/no/such/compiler"};
  job.ended = [&](const Result<Captured>& ended) {
    message = ended ? "" : ended.error().text();
    return std::vector<Job>();
  };
  EXPECT_TRUE(run_jobs({job}, 1, {}));
  EXPECT_NE(message.find("/no/such/compiler"), std::string::npos) << message;
}

TEST(ProcessJobs, EndWhenToldToStop) {
  int looks = 0;
  Job job;
  job.words = {"sleep", "1000"};
  job.ended = [](const Result<Captured>&) { return std::vector<Job>(); };
  EXPECT_FALSE(run_jobs({job, job}, 1, [&] { return ++looks > 1; }));
}

}  // namespace
}  // namespace assay::run
