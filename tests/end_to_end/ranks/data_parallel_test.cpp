// Training on several ranks as a user runs it, from the experiment to what is stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

// Ranks that stay for several cases of several passes each: what Gloo's threads hold a moment
// longer, and what is made once, is no leak.
constexpr const char* several_passes = R"(experiment: ranks
workload: model_step
matrix: {batch: [1, 2], communication: [naive, bucketed]}
fixed: {model: model.yaml, world_size: 2, seq_len: 32, precision: fp32, device: cpu}
measure: {passes: [forward, backward, forward_backward, train_step], warmup: 1, samples: 3}
)";

TEST(DataParallel, NothingIsLeftOfSeveralPassesAndCases) {
  const Folder folder;
  folder.write("model.yaml", "{d_model: 128, d_ff: 256, layers: 2, heads: 4, vocab_size: 2000}\n");
  const Ended run = assay(folder.path(), {"run", folder.write("ranks.yaml", several_passes)});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  int cases = 0;
  for (const nlohmann::json& line : exported(folder.path())) {
    const auto& from = line["provenance"];
    if (!from.contains("case")) continue;
    ++cases;
    for (const auto& mark : from["case"]["context"].value("marks", nlohmann::json::array())) {
      EXPECT_NE(mark["mark"], "leak") << mark;
      EXPECT_NE(mark["mark"], "processes") << mark;
    }
  }
  EXPECT_EQ(cases, 4);
}

}  // namespace
}  // namespace assay::test
