#include "compare/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compare/render.h"
#include "store/exchange/import.h"

namespace assay::compare {
namespace {

const std::string tight = "[1.000 1.001 0.999 1.000 1.001 1.000 0.999 1.000 1.001 0.999 1.000]";
const std::string slow = "[1.200 1.201 1.199 1.200 1.201 1.200 1.199 1.200 1.201 1.199 1.200]";

store::Run run_of(const std::string& csv, const std::string& name = "run") {
  auto run = store::import_text(csv, "figures.csv");
  if (!run) {
    ADD_FAILURE() << run.error().text();
    return {};
  }
  run->info.name = name;
  return std::move(*run);
}

Side side_of(const std::string& csv, const std::string& name = "run") {
  return {name, {run_of(csv, name)}};
}

// Compares the samples alone, without variation between processes.
Question of_samples() {
  Question question;
  question.between_runs = 0;
  return question;
}

Comparison compared(const Side& a, const Side& b, const Question& question = of_samples()) {
  auto comparison = compare(a, b, question);
  if (!comparison) {
    ADD_FAILURE() << comparison.error().text();
    return {};
  }
  return std::move(*comparison);
}

Comparison compared(const std::string& a, const std::string& b,
                    const Question& question = of_samples()) {
  return compared(side_of(a, "one"), side_of(b, "two"), question);
}

std::string verdicts(const Comparison& comparison) {
  std::string text;
  for (const Row& row : comparison.rows) {
    text += (text.empty() ? "" : ", ") + std::string(to_text(row.verdict));
  }
  return text;
}

TEST(Compare, PairsCasesByTheirParametersInAsOrder) {
  const Comparison comparison =
      compared("seq_len,pass,time.samples [ms]\n128,forward," + tight + "\n256,forward," + slow +
                   "\n512,forward," + tight + "\n",
               "seq_len,pass,time.samples [ms]\n512,forward," + slow + "\n256,forward," + tight +
                   "\n128,forward," + tight + "\n");
  EXPECT_EQ(verdicts(comparison), "same, faster, slower");
  ASSERT_EQ(comparison.rows.size(), 3u);
  EXPECT_EQ(comparison.rows[2].parameters.at("seq_len"), Value(std::int64_t{512}));
  EXPECT_NEAR(comparison.rows[2].judgement.ratio, 1.2, 1e-12);
  EXPECT_EQ(comparison.rows[2].b.n, 11u);
  EXPECT_DOUBLE_EQ(comparison.rows[2].b.median, 1.2e-3);
}

TEST(Compare, TimesThatWereDiscardedAreNotCompared) {
  const std::string csv = "seq_len,pass,time.samples [ms]\n128,forward," + tight + "\n";
  Side unfit = side_of(csv, "unfit");
  store::CaseResult& result = unfit.runs[0].cases[0];
  result.series[0].clock = "wall";
  result.facts.marks = {{"shared", "", "python ran too"}};
  result.facts.discarded = {{"forward", "shared"}};
  const Comparison comparison = compared(unfit, side_of(csv, "fit"));
  EXPECT_EQ(verdicts(comparison), "not-compared");
  EXPECT_EQ(comparison.rows[0].reason, "A: discarded: python ran too");
}

TEST(Compare, ASideThatIsASingleRunIsCautionedOf) {
  const std::string csv = "seq_len,pass,time.samples [ms]\n128,forward," + tight + "\n";
  const auto caution = [&](int runs_of_a, int runs_of_b) {
    Side a = {"a", {}};
    Side b = {"b", {}};
    for (int run = 0; run < runs_of_a; ++run) a.runs.push_back(run_of(csv));
    for (int run = 0; run < runs_of_b; ++run) b.runs.push_back(run_of(csv));
    const Comparison comparison = compared(a, b);
    EXPECT_LE(comparison.cautions.size(), 1u);
    const std::string text = comparison.cautions.empty() ? "" : comparison.cautions[0];
    EXPECT_EQ(to_json(comparison)["cautions"].size(), comparison.cautions.size());
    EXPECT_NE(to_terminal(comparison).find(text), std::string::npos);
    EXPECT_NE(to_markdown(comparison).find(text.substr(0, 40)), std::string::npos);
    return text.substr(0, text.find(':'));
  };
  EXPECT_EQ(caution(1, 1), "Each side is a single run");
  EXPECT_EQ(caution(1, 2), "A is a single run");
  EXPECT_EQ(caution(3, 1), "B is a single run");
  EXPECT_EQ(caution(2, 4), "");
  // Two runs without a common case are a single run of each case.
  Side split = side_of(csv);
  split.runs.push_back(run_of("seq_len,pass,time.samples [ms]\n256,forward," + tight + "\n"));
  EXPECT_EQ(compared(split, split).cautions.size(), 1u);
}

// Six runs of the same cases on the CPUs of one machine deviated by 10 to 22 %.
TEST(Compare, SingleRunsAreSupposedToDeviateByWhereTheyRan) {
  const auto at = [](const std::string& device, const std::string& samples) {
    return side_of("device,pass,time.samples [ms]\n" + device + ",forward," + samples + "\n",
                   device + samples);
  };
  EXPECT_EQ(verdicts(compared(at("cuda", tight), at("cuda", slow), {})), "slower");
  const Comparison on_cpu = compared(at("cpu", tight), at("cpu", slow), {});
  EXPECT_EQ(verdicts(on_cpu), "inconclusive");
  ASSERT_EQ(on_cpu.cautions.size(), 1u);
  EXPECT_NE(on_cpu.cautions[0].find("15 % on a CPU is assumed"), std::string::npos);
  EXPECT_EQ(verdicts(compared(at("cpu", tight), at("cpu", slow))), "slower");
}

TEST(Compare, SaysOfWhatIsMarkedThatItDeservesLessTrust) {
  const std::string csv = "seq_len,pass,time.samples [ms]\n128,forward," + tight + "\n";
  Side busy = side_of(csv, "busy");
  busy.runs[0].cases[0].series[0].clock = "wall";
  busy.runs[0].cases[0].facts.marks = {{"busy", "", "others used 1.4 of 2 cores"}};
  const Comparison comparison = compared(side_of(csv, "calm"), busy);
  EXPECT_EQ(verdicts(comparison), "same");
  const std::string line = "† B: busy, for example: others used 1.4 of 2 cores (forward)";
  EXPECT_NE(to_terminal(comparison).find(line), std::string::npos) << to_terminal(comparison);
  EXPECT_NE(to_terminal(comparison).find("1 ms  1 ms†"), std::string::npos)
      << to_terminal(comparison);
  EXPECT_NE(to_markdown(comparison).find(line), std::string::npos);
  const auto json = to_json(comparison)["results"][0];
  EXPECT_EQ(json["a"]["marks"].size(), 0u);
  EXPECT_EQ(json["b"]["marks"][0]["mark"], "busy");
}

TEST(Compare, FiguresShareTheUnitOfTheSmallest) {
  const Comparison comparison =
      compared("seq_len,pass,time.samples [us]\n1,forward,20 20 20\n2,forward,30000 30000 30000\n",
               "seq_len,pass,time.samples [us]\n1,forward,40 40 40\n2,forward,5000 5000 5000\n");
  const std::string table = to_terminal(comparison);
  EXPECT_NE(table.find("    20 us    40 us"), std::string::npos) << table;
  EXPECT_NE(table.find("30,000 us  5000 us"), std::string::npos) << table;
}

TEST(Compare, SumsOfOtherNumbersOfCallsAreNotCompared) {
  const auto of = [](int calls) {
    return fmt::format("seq_len,measure.calls_per_sample,pass,time.samples [ms]\n8,{},forward,{}\n",
                       calls, tight);
  };
  const Comparison comparison = compared(of(1), of(10));
  EXPECT_EQ(verdicts(comparison), "not-compared");
  EXPECT_EQ(comparison.rows[0].reason, "a sample sums 1 calls in A, 10 in B");
}

// The axis varies on each side, the other setting does not.
TEST(Compare, ASettingThatIsAnAxisStillPairsWhereAnotherHasChanged) {
  const auto of = [](int samples, const std::string& warm, const std::string& flush) {
    return fmt::format(
        "measure.cache,measure.samples,pass,time.samples [ms]\n"
        "warm,{0},forward,{1}\nflush,{0},forward,{2}\n",
        samples, warm, flush);
  };
  EXPECT_EQ(verdicts(compared(of(10, tight, slow), of(300, tight, tight))), "same, faster");
}

TEST(Compare, SaysThatBothSidesHoldTheSameMeasurements) {
  Side side = side_of("seq_len,pass,time.samples [ms]\n128,forward," + tight + "\n");
  side.runs[0].info.started = "2026-01-01T00:00:00Z";
  const Comparison comparison = compared(side, side);
  EXPECT_EQ(comparison.cautions.back(),
            "Both sides hold the same measurements, from run: shared cases cannot differ.");
}

TEST(Compare, EveryCaseHasARowWithTheReason) {
  const Comparison comparison = compared(
      "seq_len,pass,time.samples [ms],outcome,reason\n1,forward," + tight + ",ok,\n2,forward," +
          tight + ",ok,\n3,forward,,wrong,off by 7\n",
      "seq_len,pass,time.samples [ms],outcome,reason\n2,forward,,oom,\"needs 8 GiB\"\n3,forward," +
          tight + ",ok,\n4,forward," + tight + ",ok,\n");
  EXPECT_EQ(verdicts(comparison), "not-compared, not-compared, not-compared, not-compared");
  ASSERT_EQ(comparison.rows.size(), 4u);
  EXPECT_EQ(comparison.rows[0].reason, "B: there is no such case");
  EXPECT_EQ(comparison.rows[1].reason, "B: oom: needs 8 GiB");
  EXPECT_EQ(comparison.rows[1].a.n, 11u);
  EXPECT_EQ(comparison.rows[2].reason, "A: wrong: off by 7");
  EXPECT_EQ(comparison.rows[3].reason, "A: there is no such case");
}

TEST(Compare, APassThatOnlyOneSideHasIsListed) {
  const Comparison comparison = compared(
      "seq_len,pass,time.samples [ms]\n1,forward," + tight + "\n1,backward," + tight + "\n",
      "seq_len,pass,time.samples [ms]\n1,forward," + tight + "\n");
  EXPECT_EQ(verdicts(comparison), "same, not-compared");
  EXPECT_EQ(comparison.rows[1].reason, "B: time was not measured");
}

TEST(Compare, OfSeveralRanksTheSlowestOfEachIterationCounts) {
  // Each rank has the same median on both sides; the slowest rank of an iteration takes 2 or 1.
  const Comparison comparison = compared(
      "world_size,pass,rank,time.samples [ms]\n2,step,0,[1 1 1 1 1 1]\n2,step,1,[1 1 1 1 1 1]\n",
      "world_size,pass,rank,time.samples [ms]\n2,step,0,[1 2 1 2 1 2]\n2,step,1,[2 1 2 1 2 1]\n");
  EXPECT_EQ(verdicts(comparison), "slower");
  EXPECT_DOUBLE_EQ(comparison.rows[0].judgement.ratio, 2);
}

TEST(Compare, OfRatesTheLowestRankCountsAndHigherIsFaster) {
  const Question question{.metric = "bandwidth"};
  const Comparison comparison = compared(
      "size,pass,rank,bandwidth.samples [GB/s]\n1,copy,0,[4 4 4 4 4]\n1,copy,1,[2 2 2 2 2]\n",
      "size,pass,rank,bandwidth.samples [GB/s]\n1,copy,0,[3 3 3 3 3]\n1,copy,1,[3 3 3 3 3]\n",
      question);
  EXPECT_EQ(verdicts(comparison), "faster");
  EXPECT_DOUBLE_EQ(comparison.rows[0].judgement.ratio, 1.5);
}

TEST(Compare, BytesAreCountedAndNotTimed) {
  const Comparison comparison = compared(
      "a,pass,peak_memory.max [MiB],peak_memory.samples [MiB]\n"
      "1,step,100,[100]\n2,step,100,[100]\n",
      "a,pass,peak_memory.max [MiB],peak_memory.samples [MiB]\n"
      "1,step,120,[120]\n2,step,100,[100]\n",
      {.metric = "peak_memory"});
  EXPECT_EQ(verdicts(comparison), "higher, same");
}

TEST(Compare, TheSamplesOfSeveralRunsAreTakenTogether) {
  const std::string header = "a,pass,time.samples [ms]\n1,step,";
  const Side a{"a", {run_of(header + "[1.0 1.01 0.99]\n"), run_of(header + "[1.0 0.99 1.01]\n")}};
  const Side b = side_of(header + tight + "\n");
  const Comparison comparison = compared(a, b);
  EXPECT_EQ(comparison.rows[0].a.n, 6u);
  EXPECT_NE(comparison.rows[0].verdict, Verdict::not_compared);
  const Side failing{"c",
                     {a.runs[0], run_of("a,pass,time.samples [ms],outcome,reason\n"
                                        "1,step,,crashed,SIGSEGV\n")}};
  EXPECT_EQ(compared(failing, b).rows[0].reason, "A: crashed: SIGSEGV");
}

TEST(Compare, ImportedFiguresWithoutSamplesAreNotCompared) {
  const Comparison comparison = compared("a,pass,time.mean [ms]\n1,step,1\n",
                                         "a,pass,time.samples [ms]\n1,step," + tight + "\n");
  EXPECT_EQ(comparison.rows[0].reason, "A: its samples are unknown");
}

TEST(Compare, OtherSettingsDoNotKeepACaseFromItsPartner) {
  const Comparison comparison = compared(
      "a,measure.warmup,pass,time.samples [ms]\n1,5,step," + tight + "\n2,5,step," + tight + "\n",
      "a,measure.warmup,measure.cache,pass,time.samples [ms]\n1,2,warm,step," + tight +
          "\n2,5,,step," + tight + "\n");
  EXPECT_EQ(verdicts(comparison), "same, same");
  ASSERT_EQ(comparison.differences.size(), 2u);
  EXPECT_EQ(comparison.differences[0].what, "measure.warmup");
  EXPECT_EQ(comparison.differences[0].a, "5");
  EXPECT_EQ(comparison.differences[0].b, "2, 5");
  EXPECT_EQ(comparison.differences[1].what, "measure.cache");
}

TEST(Compare, SettingsThatAnExperimentVariesAreNotMixedUp) {
  const std::string header = "measure.warmup,pass,time.samples [ms]\n";
  const Comparison comparison = compared(header + "0,step," + tight + "\n1,step," + tight + "\n",
                                         header + "2,step," + tight + "\n3,step," + tight + "\n");
  EXPECT_EQ(verdicts(comparison), "not-compared, not-compared, not-compared, not-compared");
}

TEST(Compare, ListsWhatWasNotTheSame) {
  const std::string csv = "a,pass,time.samples [ms]\n1,step," + tight + "\n";
  Side a = side_of(csv), b = side_of(csv);
  a.runs[0].info.first.machine = {
      {"host", "lab1"}, {"gpu_driver", "570"}, {"gpus", {{{"name", "H100"}}}}};
  b.runs[0].info.first.machine = {
      {"host", "lab1"}, {"gpu_driver", "580"}, {"gpus", {{{"name", "H200"}}}}};
  a.runs[0].info.first.provenance = {{"source", {{"commit", "0123456789abcdef"}, {"clean", true}}}};
  b.runs[0].info.first.provenance = {{"source", {{"commit", "0123456789abcdef"}, {"clean", false}}},
                                     {"environment", {{"NCCL_ALGO", "Ring"}}}};
  a.runs[0].cases[0].facts.versions = {{"libtorch", std::string("2.10.0")}};
  b.runs[0].cases[0].facts.versions = {{"libtorch", std::string("2.11.0")}};
  a.runs[0].cases[0].build = "aaaabbbbccccdddd";
  b.runs[0].cases[0].build = "eeee";
  a.runs[0].cases[0].series[0].clock = "wall";
  b.runs[0].cases[0].series[0].clock = "cuda_event";
  std::string text;
  for (const Difference& each : compared(a, b).differences) {
    text += each.what + ": " + each.a + " | " + each.b + "\n";
  }
  EXPECT_EQ(text,
            "GPU: H100 | H200\nGPU driver: 570 | 580\n"
            "commit: 0123456789ab | 0123456789ab with uncommitted changes\n"
            "build: aaaabbbbcccc | eeee\nlibtorch: 2.10.0 | 2.11.0\nclock: wall | cuda_event\n"
            "environment NCCL_ALGO:  | Ring\n");
  EXPECT_TRUE(compared(a, a).differences.empty());
}

TEST(Compare, TellsAVariableThatWasNotSetFromOneThatIsUnknown) {
  const std::string csv = "a,pass,time.samples [ms]\n1,step," + tight + "\n";
  Side silent = side_of(csv), without = side_of(csv), with = side_of(csv);
  without.runs[0].info.first.provenance = {{"environment", nlohmann::json::object()}};
  with.runs[0].info.first.provenance = {{"environment", {{"NCCL_ALGO", "Ring"}}}};
  const auto of_algorithm = [](const Side& a, const Side& b) {
    for (const Difference& each : compared(a, b).differences) {
      if (each.what == "environment NCCL_ALGO") return each.a + " | " + each.b;
    }
    return std::string();
  };
  EXPECT_EQ(of_algorithm(without, with), "not set | Ring");
  EXPECT_EQ(of_algorithm(with, without), "Ring | not set");
  EXPECT_EQ(of_algorithm(silent, with), " | Ring") << "shown as unknown";
  EXPECT_EQ(of_algorithm(without, without), "");
}

TEST(Compare, AnUnknownMetricIsAnError) {
  const Side side = side_of("a,pass,time.samples [ms]\n1,step," + tight + "\n");
  const auto comparison = compare(side, side, {.metric = "tiem"});
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().exit_code, ExitCode::bad_input);
  EXPECT_NE(comparison.error().text().find("did you mean 'time'?"), std::string::npos);
}

Comparison three_verdicts() {
  Side a = side_of("attention,seq_len,pass,time.samples [ms]\nnaive,1,forward," + tight +
                       "\nflash,1,forward," + tight + "\nfl|sh,1,forward,[1 1]\n",
                   "main-1");
  Side b = side_of("attention,seq_len,pass,time.samples [ms]\nnaive,1,forward," + tight +
                       "\nflash,1,forward," + slow + "\nfl|sh,1,forward,[1 1]\n",
                   "mine-1");
  a.runs[0].info.first.machine = {{"host", "lab1"}};
  b.runs[0].info.first.machine = {{"host", "lab2"}};
  return compared(a, b);
}

TEST(Rendering, ForATerminal) {
  const std::string text = to_terminal(three_verdicts());
  EXPECT_EQ(text.substr(0, text.find("\n\n") + 1),
            "A: main-1\nB: mine-1\n"
            "time, B against A: a difference counts when it is significant at 1 % and at least 1 % "
            "large.\n");
  EXPECT_NE(text.find("\n  host: A lab1; B lab2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.2000"), std::string::npos) << text;
  EXPECT_NE(text.find("1 slower, 1 same, 1 inconclusive.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("inconclusive: too few samples: 2 and 2; each side needs 5 "
                      "(attention fl|sh, forward)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("seq_len"), std::string::npos) << "what does not vary is no column";
}

TEST(Rendering, InMarkdown) {
  const std::string text = to_markdown(three_verdicts());
  EXPECT_EQ(text.substr(0, text.find('\n')), "# mine-1 against main-1");
  EXPECT_NE(text.find("| attention"), std::string::npos) << text;
  EXPECT_NE(text.find("| flash "), std::string::npos) << text;
  EXPECT_NE(text.find("- inconclusive: too few"), std::string::npos) << text;
  EXPECT_NE(text.find("attention fl\\|sh"), std::string::npos) << text;
}

TEST(Rendering, AsJson) {
  const auto json = to_json(three_verdicts());
  EXPECT_EQ(json["counts"]["slower"], 1);
  ASSERT_EQ(json["results"].size(), 3u);
  const auto& flash = json["results"][1];
  EXPECT_EQ(flash["case"]["attention"], "flash");
  EXPECT_EQ(flash["verdict"], "slower");
  EXPECT_NEAR(flash["ratio"].get<double>(), 1.2, 1e-12);
  EXPECT_LT(flash["low"].get<double>(), 1.2);
  EXPECT_GT(flash["high"].get<double>(), 1.2);
  EXPECT_DOUBLE_EQ(flash["a"]["median"].get<double>(), 1e-3);
  EXPECT_TRUE(json["results"][2]["ratio"].is_null());
  EXPECT_EQ(json["differences"][0]["b"], "lab2");
}

TEST(Compare, WordsAreTheSameOrChanged) {
  const std::string header = "seq_len,pass,part,rank,dtype.words [text]\n";
  Question question = of_samples();
  question.metric = "dtype";
  const Comparison comparison = compared(
      header + "1,forward,,0,bf16\n1,forward,gemm,0,bf16\n2,forward,,0,fp16\n",
      header + "1,forward,,0,bf16\n1,forward,gemm,0,\"[\"\"fp32\"\",\"\"bf16\"\"]\"\n", question);
  EXPECT_EQ(verdicts(comparison), "same, changed, not-compared");
  const std::string text = to_terminal(comparison);
  EXPECT_NE(text.find("fp32, bf16"), std::string::npos) << text;
  EXPECT_TRUE(std::isnan(comparison.rows[1].judgement.ratio));
  EXPECT_TRUE(comparison.cautions.empty()) << "words do not vary between processes";
  EXPECT_EQ(to_json(comparison)["results"][1]["b"]["words"], "fp32, bf16");
}

TEST(Compare, KernelsOfTwoProfilesAreAddedGoneOrChanged) {
  Question question = of_samples();
  question.metric = "kernel_calls";
  const std::string header = "seq_len,pass,part,kernel_calls.samples [count]\n";
  const Comparison comparison = compared(
      header + "1,forward,gemm,[24]\n1,forward,softmax,[12]\n1,forward,copy,[2]\n",
      header + "1,forward,gemm,[24]\n1,forward,flash,[12]\n1,forward,copy,[4]\n", question);
  EXPECT_EQ(verdicts(comparison), "same, gone, higher, added");
  EXPECT_EQ(comparison.rows[1].part, "softmax");
  EXPECT_EQ(comparison.rows[3].part, "flash");
  EXPECT_TRUE(comparison.rows[3].reason.empty());
}

TEST(Compare, APassThatOneSideDidNotMeasureIsNotGonePartByPart) {
  Question question = of_samples();
  question.metric = "kernel_calls";
  const std::string header = "seq_len,pass,part,kernel_calls.samples [count]\n";
  EXPECT_EQ(verdicts(compared(header + "1,forward,gemm,[24]\n1,backward,gemm,[24]\n",
                              header + "1,forward,gemm,[24]\n", question)),
            "same, not-compared");
}

TEST(Compare, AMetricOfWordsHereAndOfNumbersThereIsNotCompared) {
  Question question = of_samples();
  question.metric = "x";
  const Comparison comparison =
      compared("pass,x.words [text]\nforward,bf16\n", "pass,x.mean [1]\nforward,2\n", question);
  EXPECT_EQ(verdicts(comparison), "not-compared");
}

}  // namespace
}  // namespace assay::compare
