// Where one variant fits the memory and another does not.

#include <gtest/gtest.h>

#include "rendering.h"

namespace assay::report {
namespace {

using testing_support::markdown;

constexpr const char* header = "seq_len,compile,pass,time.mean [ms],outcome\n";

TEST(Fits, NamesTheLengthsAtWhichOnlyTheVariantFits) {
  EXPECT_EQ(markdown(std::string(header) + "128,eager,forward,1,\n128,cuda_graph,forward,1,\n"
                                           "256,eager,forward,,oom\n256,cuda_graph,forward,1,\n"
                                           "512,eager,forward,,oom\n512,cuda_graph,forward,,oom\n",
                     "- findings: [fits]"),
            "- **cuda_graph fits where eager does not**, in 1 of 3 pairs: seq_len 256, forward.\n");
}

TEST(Fits, AndThoseAtWhichItDoesNot) {
  EXPECT_EQ(markdown(std::string(header) + "128,eager,backward,1,\n128,cuda_graph,backward,,oom\n"
                                           "64,eager,backward,1,\n64,cuda_graph,backward,1,\n",
                     "- findings: [{fits: {axis: compile, baseline: eager}}]"),
            "- **cuda_graph does not fit where eager does**, in 1 of 2 pairs: seq_len 128, "
            "backward.\n");
}

TEST(Fits, SaysWhereBothEndAlike) {
  EXPECT_EQ(markdown(std::string(header) + "128,eager,forward,1,\n128,cuda_graph,forward,1,\n"
                                           "512,eager,forward,,oom\n512,cuda_graph,forward,,oom\n",
                     "- findings: [fits]"),
            "- **cuda_graph fits where eager does**, and nowhere else: in 1 of 2 pairs neither "
            "does.\n");
}

// Another end than for want of memory tells nothing of what fits.
TEST(Fits, IsSilentWhereNothingRanOutOfMemory) {
  EXPECT_EQ(markdown(std::string(header) + "128,eager,forward,1,\n128,cuda_graph,forward,1,\n"
                                           "256,eager,forward,,error\n256,cuda_graph,forward,1,\n",
                     "- findings: [fits]"),
            "The results support none of the requested findings.\n");
}

}  // namespace
}  // namespace assay::report
