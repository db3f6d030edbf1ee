#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "rendering.h"
#include "report/picture/timeline.h"

namespace assay::report {
namespace {

using Spans = std::vector<Span>;

TEST(Merging, JoinsWhatTouchesAndDropsWhatHasNoLength) {
  EXPECT_EQ(merged({{5, 6}, {0, 2}, {1, 3}, {3, 4}, {8, 8}}), (Spans{{0, 4}, {5, 6}}));
  EXPECT_EQ(merged({{0, 9}, {1, 2}}), (Spans{{0, 9}}));
}

TEST(Common, IsWhatLiesInBoth) {
  EXPECT_EQ(common({{0, 4}, {6, 10}}, {{3, 7}, {9, 12}}), (Spans{{3, 4}, {6, 7}, {9, 10}}));
  EXPECT_EQ(common({{0, 1}}, {{1, 2}}), Spans{});
  EXPECT_EQ(common({{0, 10}}, {{1, 2}, {3, 4}}), (Spans{{1, 2}, {3, 4}}));
}

class Timelines : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_timelines_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string rendered(const std::string& json_lines, const std::string& yaml) {
    const auto run = store::import_text(json_lines, "trace.jsonl");
    if (!run) return "IMPORT " + run.error().text();
    Inputs inputs;
    inputs.sources = {&*run};
    inputs.with_context = false;
    inputs.folder = folder_;
    inputs.spec = *yaml::parse(yaml, "spec.yaml");
    const auto document = build(inputs);
    return document ? *to_markdown(*document) : "ERROR " + document.error().text();
  }

  std::string data(const std::string& name = "timeline-1") const {
    const auto text = read_file((folder_ / (name + ".csv")).string());
    return text ? *text : text.error().text();
  }

  std::filesystem::path folder_;
};

std::string line(const std::string& rest, const std::string& overlap = "true") {
  return R"({"case":{"overlap":)" + overlap + R"(},"pass":"train_step",)" + rest + "}\n";
}

std::string spans(const std::string& part, int rank, const std::string& starts,
                  const std::string& ends) {
  const std::string place = R"("part":")" + part + R"(","rank":)" + std::to_string(rank);
  return line(R"("metric":"span_start","unit":"s",)" + place + R"(,"samples":[)" + starts + "]") +
         line(R"("metric":"span_end","unit":"s",)" + place + R"(,"samples":[)" + ends + "]");
}

// In ms from 100 s on. Rank 0: of [3, 7] and [9, 12], 7 ms, the parts within [0, 4] and [6, 10] are
// [3, 4], [6, 7] and [9, 10], 3 ms: 42.9 %. Rank 1: [1, 3], [2, 4] and [6, 8] are 5 ms of time, of
// which [1, 4] lie within [0, 2] and [2, 5]: 60 %.
std::string two_ranks() {
  return spans("compute", 0, "100, 100.006", "100.004, 100.010") +
         spans("communication", 0, "100.003, 100.009", "100.007, 100.012") +
         spans("compute", 1, "100, 100.002", "100.002, 100.005") +
         spans("communication", 1, "100.001, 100.002, 100.006", "100.003, 100.004, 100.008");
}

TEST_F(Timelines, OverlapIsComputedFromTheSpansOfEachRank) {
  const std::string text = rendered(two_ranks(),
                                    "- timeline: {lanes: [compute, communication], overlap: {of: "
                                    "communication, with: compute}}\n");
  const std::string table =
      "|   rank |   communication [ms] |   during compute [ms] |   overlap [%] |\n"
      "|-------:|---------------------:|----------------------:|--------------:|\n"
      "|      0 |                    7 |                     3 |          42.9 |\n"
      "|      1 |                    5 |                     3 |          60.0 |\n";
  EXPECT_NE(text.find(table), std::string::npos) << text;
  if (text.find("gnuplot is not installed") != std::string::npos)
    GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_EQ(text, "![Timeline](timeline-1.svg)\n\n" + table);
  const auto svg = read_file((folder_ / "timeline-1.svg").string());
  ASSERT_TRUE(svg);
  for (const char* shown :
       {"compute, rank 0", "communication, rank 1", "time [ms]", "communication during compute"}) {
    EXPECT_NE(svg->find(shown), std::string::npos) << shown;
  }
}

TEST_F(Timelines, LanesAreKeptAsDataFromTheFirstMoment) {
  rendered(two_ranks(), "- timeline: {lanes: [communication], where: {rank: 0}}\n");
  EXPECT_EQ(data(),
            "line,start time [ms],end time [ms],value\n"
            "communication,0,4,\ncommunication,6,9,\n");
}

// Bytes in MiB; the phases stand behind.
TEST_F(Timelines, OfMemoryHasValuesAndPhases) {
  const std::string trace =
      line(R"("metric":"sample_time","unit":"s","samples":[10, 10.001, 10.003])") +
      line(R"("metric":"allocated_memory","unit":"byte","samples":[1048576, 3145728, 2097152])") +
      line(R"("metric":"reserved_memory","unit":"byte","samples":[4194304, 4194304, 4194304])") +
      spans("forward", 0, "10", "10.002") + spans("backward", 0, "10.002", "10.004");
  const std::string text = rendered(trace,
                                    "- timeline:\n"
                                    "    values: [allocated_memory, reserved_memory]\n"
                                    "    unit: MiB\n"
                                    "    phases: [forward, backward]\n"
                                    "    labels: {allocated_memory: allocated, reserved_memory: "
                                    "reserved}\n    title: One step\n");
  EXPECT_EQ(data(),
            "line,start time [ms],end time [ms],[MiB]\n"
            "allocated,0,1,1\nallocated,1,3,3\nallocated,3,3,2\n"
            "reserved,0,1,4\nreserved,1,3,4\nreserved,3,3,4\n"
            "forward,0,2,\nbackward,2,4,\n");
  if (text.find("gnuplot is not installed") != std::string::npos)
    GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_EQ(text, "![One step](timeline-1.svg)\n");
  const auto svg = read_file((folder_ / "timeline-1.svg").string());
  for (const char* shown : {"One step", ">forward<", ">backward<", ">reserved<", "[MiB]"}) {
    EXPECT_NE(svg->find(shown), std::string::npos) << shown;
  }
}

TEST_F(Timelines, ComeOneForEachCase) {
  const std::string trace =
      two_ranks() +
      line(R"("metric":"span_start","unit":"s","part":"compute","samples":[0])", "false") +
      line(R"("metric":"span_end","unit":"s","part":"compute","samples":[1])", "false");
  const std::string mixed = rendered(trace, "- timeline: {lanes: [compute]}\n");
  EXPECT_NE(mixed.find("spec.yaml:1:"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("the chosen ones differ in overlap (true, false)"), std::string::npos)
      << mixed;
  rendered(trace, "- timeline: {lanes: [compute], for_each: [overlap]}\n");
  EXPECT_EQ(data("timeline-2"), "line,start time [s],end time [s],value\ncompute,0,1,\n");
}

TEST_F(Timelines, OfSeriesThatDoNotFitTogetherAreErrors) {
  const auto expect = [&](const std::string& trace, const std::string& spec,
                          const std::string& message) {
    const std::string text = rendered(trace, spec);
    EXPECT_NE(text.find("spec.yaml:1:"), std::string::npos) << text;
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect(spans("compute", 0, "0, 1", "1"), "- timeline: {lanes: [compute]}\n",
         "the spans of 'compute' on rank 0: 2 starts and 1 ends");
  expect(spans("compute", 0, "0, 2", "1, 1"), "- timeline: {lanes: [compute]}\n",
         "number 2 ends before it starts");
  const std::string memory = line(R"("metric":"allocated_memory","unit":"byte","samples":[1, 2])");
  expect(memory, "- timeline: {values: [allocated_memory]}\n",
         "allocated_memory of rank 0 has 2 values and 0 times");
  expect(memory + line(R"("metric":"sample_time","unit":"s","samples":[2, 1])"),
         "- timeline: {values: [allocated_memory]}\n", "do not ascend");
}

// Values below zero stay visible.
TEST(TimelineScript, BeginsAtZeroUnlessSomethingIsBelow) {
  TimelineData data;
  data.lines = {{"balance", {0, 1}, {1, 2}}};
  EXPECT_NE(timeline_script(data, "o.svg").find("set yrange [0:*]"), std::string::npos);
  data.lines[0].values[1] = -2;
  EXPECT_EQ(timeline_script(data, "o.svg").find("set yrange"), std::string::npos);
}

// Six significant digits, as in any table: 1/3 ms.
TEST_F(Timelines, OverlapIsWrittenAsOtherFiguresAre) {
  const std::string text =
      rendered(spans("compute", 0, "0", "0.002") + spans("communication", 0, "0", "0.0013333333"),
               "- timeline: {lanes: [compute, communication], overlap: {of: communication, with: "
               "compute}}\n");
  EXPECT_NE(text.find("1.333 |"), std::string::npos) << text;
}

TEST_F(Timelines, OfAFailedCaseSayWhy) {
  EXPECT_EQ(
      rendered(
          line(
              R"("metric":"allocated_memory","unit":"byte","outcome":"oom","reason":"2 GiB requested")"),
          "- timeline: {values: [allocated_memory]}\n"),
      "No timeline: oom: 2 GiB requested.\n");
}

std::string in_lane(const std::string& part, const std::string& lane, const std::string& starts,
                    const std::string& ends) {
  const std::string place = R"("part":")" + part + R"(","lane":")" + lane + R"(")";
  return line(R"("metric":"span_start","unit":"s",)" + place + R"(,"samples":[)" + starts + "]") +
         line(R"("metric":"span_end","unit":"s",)" + place + R"(,"samples":[)" + ends + "]");
}

TEST_F(Timelines, ALaneHoldsTheSpansOfSeveralParts) {
  const std::string text =
      rendered(in_lane("gemm", "stream 7", "1, 3", "2, 4") + in_lane("norm", "stream 7", "2", "3") +
                   in_lane("gemm", "stream 9", "5", "6"),
               "- timeline: {lanes: [stream 7, stream 9], labels: {norm: Norm}}\n");
  EXPECT_NE(text.find("timeline-1.svg"), std::string::npos) << text;
  EXPECT_EQ(data(),
            "line,start time [s],end time [s],value\n"
            "stream 7: gemm,0,1,\n"
            "stream 7: gemm,2,3,\n"
            "stream 7: Norm,1,2,\n"
            "stream 9: gemm,4,5,\n");
}

TEST_F(Timelines, APartIsOneRowWhateverItsLanes) {
  rendered(in_lane("gemm", "stream 7", "1", "2") + in_lane("gemm", "stream 9", "1", "3") +
               in_lane("norm", "gemm", "4", "5"),
           "- timeline: {lanes: [gemm]}\n");
  EXPECT_EQ(data(), "line,start time [s],end time [s],value\ngemm,0,1,\ngemm,0,2,\n");
}

TEST_F(Timelines, AnUnknownLaneIsNamed) {
  EXPECT_NE(rendered(in_lane("gemm", "stream 7", "1", "2"), "- timeline: {lanes: [stream 8]}\n")
                .find("part 'stream 8'"),
            std::string::npos);
}

TEST_F(Timelines, OverlapIsOfLanesToo) {
  const std::string text =
      rendered(in_lane("gemm", "compute", "0", "2") + in_lane("norm", "compute", "2", "4") +
                   in_lane("all_reduce", "link", "3", "5"),
               "- timeline: {lanes: [compute, link], overlap: {of: link, with: compute}}\n");
  EXPECT_NE(text.find("50.0"), std::string::npos) << text;
}

TEST(Stacking, GivesOverlappingSpansLevelsOfTheirOwn) {
  std::vector<TimelineLane> lanes(3);
  lanes[0].spans = {{0, 10}, {11, 12}};
  lanes[1].spans = {{2, 4}, {3, 5}};
  lanes[2].spans = {{0, 1}, {0.5, 2}, {1.5, 3}};
  lanes[2].row = 1;
  stack_rows(lanes, 2);
  EXPECT_EQ(lanes[0].levels, (std::vector<int>{0, 0}));
  EXPECT_EQ(lanes[1].levels, (std::vector<int>{1, 1})) << "beyond the most levels";
  EXPECT_EQ(lanes[2].levels, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(lanes[0].level_count, 2);
  std::vector<TimelineLane> apart(1);
  apart[0].spans = {{0, 1}, {1, 2}};
  stack_rows(apart, 6);
  EXPECT_TRUE(apart[0].levels.empty());
}

TEST(Stacking, DrawsEachLevelInItsPartOfTheRow) {
  TimelineData data;
  data.lanes.push_back({"stream", "gemm", {{0, 10}}, {}, 0, "gemm"});
  data.lanes.push_back({"stream", "norm", {{5, 6}}, {}, 0, "norm"});
  stack_rows(data.lanes, 6);
  const std::string script = timeline_script(data, "x.svg");
  EXPECT_NE(script.find("0 -0 0 10 0 0.36"), std::string::npos) << script;
  EXPECT_NE(script.find("5 -0 5 6 -0.36 0"), std::string::npos) << script;
  EXPECT_NE(script.find("set label 'gemm' at 5"), std::string::npos) << script;
}

TEST(Stacking, AHundredThousandSpansAreDrawnAsAReaderCanTellThemApart) {
  TimelineData data;
  data.lanes.push_back({"stream", "gemm", {}, {}, 0, "gemm"});
  for (int i = 0; i < 100'000; ++i) {
    data.lanes[0].spans.push_back({static_cast<double>(i), i + 0.5});
  }
  stack_rows(data.lanes, 6);
  EXPECT_LT(timeline_script(data, "x.svg").size(), 300'000u);
}

}  // namespace
}  // namespace assay::report
