// observe: memory through host and worker: what a model's step leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "observers/stored.h"

namespace assay::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Memory, OfAModelsStepIsStoredAndDrawn) {
  const Folder folder;
  const std::string experiment = folder.write("e.yaml",
                                              "experiment: m\n"
                                              "workload: model_step\n"
                                              "fixed: {model: toy, batch: 1, seq_len: 16}\n"
                                              "measure: {passes: [train_step], warmup: 1, "
                                              "samples: 2, observed_steps: 4}\n"
                                              "observe: [memory]\n"
                                              "report:\n"
                                              "  - layout: memory_timeline\n"
                                              "  - layout: largest_allocations\n");
  const Ended ended = assay(folder.path(), {"run", experiment});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const store::CaseResult result = stored_case(folder);
  EXPECT_THAT(series_of(result, "observed_time", "memory")->samples, SizeIs(4));
  const auto& peaks = series_of(result, "memory_peak", "backward")->samples;
  EXPECT_THAT(peaks, AllOf(SizeIs(3), Each(peaks.front()))) << "of the steps after the first";
  EXPECT_THAT(series_of(result, "span_start", "optimizer")->samples, SizeIs(4));
  EXPECT_EQ(series_of(result, "sample_time")->samples.size(),
            series_of(result, "allocated_memory")->samples.size());
  EXPECT_EQ(series_of(result, "memory_seen")->words.front(), "4 steps");
  ASSERT_THAT(result.artefacts, SizeIs(2));
  EXPECT_EQ(result.artefacts.front().name, "snapshot.pickle");
  const std::string picture = folder.read("results/m-1/timeline-1.csv");
  EXPECT_THAT(picture, HasSubstr("\noptimizer,"));
  EXPECT_THAT(picture, HasSubstr("\nallocated,"));
}

}  // namespace
}  // namespace assay::test
