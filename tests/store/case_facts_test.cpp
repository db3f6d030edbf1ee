#include "store/records/case_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace assay::store {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* everything = R"({
  "passes": ["forward"],
  "timing": {"forward": {"clock": "cuda_event", "warmup": 3, "samples": 50, "calls_per_sample": 1,
    "grouped_calls": 4, "resolution_s": 1e-06, "too_short": false, "target": 0.01,
    "stopped_by": "target", "relative_interval": 0.004,
    "cache": {"policy": "flush", "cache_bytes": 62914560, "flushed_bytes": 125829120},
    "clock_facts": {"call_error_s": 3e-07, "calls": 40, "calls_with_launch_gaps": 4}}},
  "verification": {"forward": {"before": {"error": 0.001, "tolerance": 0.01, "of": "out"},
    "after": {"error": 0.0, "tolerance": 0.01, "of": ""},
    "repeated": {"looks": 3, "outputs": 1, "change": 0.0, "tolerance": 0.01}}, "backward": {}},
  "unverified": {"forward": "mine: too large"},
  "marks": [{"mark": "throttled", "pass": "", "reason": "by heat"}],
  "discarded": {"forward": "throttled"},
  "interleaved": {"as": "A", "with": {"B": "attention=flash"},
    "passes": {"forward": {"block": 5, "rounds": 10, "turns": "ABBA"}}},
  "versions": {"libtorch": "2.11.0", "cudnn": 91002, "of_a_program": ["a list"]},
  "leave": "--allow-external",
  "memory": {"floor_bytes": 0, "after_bytes": 512, "leak": "9 MiB of host memory"},
  "output": "warning\n",
  "health": {"seconds": 1.5, "gpus": [{"device": 0}]},
  "ranks": {"1": {"output": "of rank 1", "timing": {"forward": {"samples": 49}}}}
})";

TEST(CaseFacts, ComeBackAsTheyWere) {
  const json written = json::parse(everything);
  const CaseFacts facts = case_facts_from_json(written);
  EXPECT_EQ(to_json(facts).dump(), written.dump());
  EXPECT_EQ(facts.timing.at("forward").clock_facts.calls_with_launch_gaps, 4);
  EXPECT_EQ(facts.verification.at("forward").before.of, "out");
  EXPECT_THAT(facts.marks, ElementsAre(Mark{"throttled", "", "by heat"}));
  EXPECT_EQ(facts.interleaved->passes->at("forward").block, 5);
  EXPECT_EQ(facts.versions.at("cudnn"), Value(std::int64_t{91002}));
  EXPECT_EQ(facts.permission, "--allow-external");
  EXPECT_EQ(facts.ranks.at("1").timing.at("forward").samples, 49);
}

TEST(CaseFacts, WhatNoFieldHoldsIsWrittenBack) {
  for (
      const char* text :
      {"null", "[]", "{}", R"({"clock_mhz": 1980})", R"({"timing": 3, "marks": {}, "output": ""})",
       R"({"timing": {"forward": {"samples": 3.0, "target": 0, "relative_interval": null,
                                   "of_later": {"a": [1]}}, "backward": {}, "step": 1}})",
       R"({"marks": [{"mark": "busy", "pass": "", "reason": "", "since": 3}, 7, {"mark": "odd"}]})",
       R"({"interleaved": {"with": {}, "passes": {}}, "passes": [], "unverified": {}})"}) {
    EXPECT_EQ(to_json(case_facts_from_json(json::parse(text))).dump(), json::parse(text).dump());
  }
}

TEST(CaseFacts, WhatIsNearlyAsDescribedIsRead) {
  const CaseFacts facts = case_facts_from_json(json::parse(
      R"({"timing": {"forward": {"samples": 3.0, "target": 0, "relative_interval": null}},
          "marks": [7, {"mark": "odd"}]})"));
  EXPECT_EQ(facts.timing.at("forward").samples, 3);
  EXPECT_EQ(facts.timing.at("forward").target, 0.0);
  EXPECT_FALSE(facts.timing.at("forward").relative_interval);
  EXPECT_THAT(facts.marks, ElementsAre(Mark{"odd", "", ""}));
}

TEST(CaseFacts, AnIntervalThatTheSamplesDoNotTellIsWrittenAsNull) {
  CaseFacts facts;
  facts.timing["forward"].relative_interval = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_json(facts).dump(), R"({"timing":{"forward":{"relative_interval":null}}})");
}

TEST(CaseFacts, OfPartsAreJoined) {
  CaseFacts whole = case_facts_from_json(json::parse(
      R"({"output": "a", "timing": {"forward": {"samples": 1}}, "memory": {"floor_bytes": 1},
          "marks": [{"mark": "leak", "pass": "", "reason": ""}], "ranks": {"1": {"output": "x"}},
          "more": {"a": 1}})"));
  add(whole, case_facts_from_json(json::parse(
                 R"({"output": "b", "timing": {"backward": {"samples": 2}},
                     "memory": {"floor_bytes": 3}, "ranks": {"1": {"output": "y"}},
                     "marks": [{"mark": "wide", "pass": "", "reason": ""}], "more": {"b": 2}})")));
  EXPECT_EQ(whole.output, "ab");
  EXPECT_EQ(whole.timing.size(), 2u);
  EXPECT_EQ(whole.memory.floor_bytes, 3);
  EXPECT_EQ(whole.marks.size(), 2u);
  EXPECT_EQ(whole.ranks.at("1").output, "xy");
  EXPECT_EQ(whole.extra, json::parse(R"({"more": {"a": 1, "b": 2}})"));
}

}  // namespace
}  // namespace assay::store
