#include "report/document/anchors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::report {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_in(const std::string& markdown) {
  std::vector<std::string> names;
  for (const Anchor& anchor : anchors_of(markdown)) names.push_back(anchor.name);
  return names;
}

// As GitHub renders them.
TEST(Anchors, AreThoseOfGitHub) {
  EXPECT_THAT(names_in("# How long, 2.7B? (fp32/bf16)\n## model_step & `norm`\n### A – B\n"
                       "#### Größe × Zahl\n"),
              ElementsAre("how-long-27b-fp32bf16", "model_step--norm", "a--b", "größe--zahl"));
}

TEST(Anchors, OfRepeatedHeadingsAreNumbered) {
  EXPECT_THAT(names_in("## Findings\n## Findings-1\n## Findings\n## Findings\n"),
              ElementsAre("findings", "findings-1", "findings-2", "findings-3"));
}

TEST(Anchors, AreNotOfCode) {
  EXPECT_THAT(names_in("## a\n```yaml\n# comment\n``` x\n# more\n```\n## b\n"
                       "````\n```\n# c\n````\n#hashtag\n####### seven\n"),
              ElementsAre("a", "b"));
}

TEST(Contents, LinkEveryHeadingDownToALevel) {
  const auto anchors = anchors_of("# T\n## Contents\n## 1. A [b]?\n### c\n#### d\n## e\n");
  EXPECT_EQ(contents_of(anchors, 3, "Contents"),
            "- [1. A \\[b\\]?](#1-a-b)\n  - [c](#c)\n- [e](#e)\n");
}

}  // namespace
}  // namespace assay::report
