#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "base/case_key.h"
#include "config/host_parameters.h"
#include "reading.h"

namespace assay::config {
namespace {

TEST(Experiment, FillsInEveryDefault) {
  const Experiment experiment = parsed("experiment: test\nworkload: model_step\n");
  EXPECT_EQ(experiment.name, "test");
  EXPECT_EQ(experiment.title, "test");
  EXPECT_EQ(experiment.workload, "model_step");
  EXPECT_EQ(experiment.passes, (std::vector<std::string>{"forward", "backward"}));
  EXPECT_TRUE(experiment.matrix.empty());
  EXPECT_TRUE(experiment.pinned.empty());
  EXPECT_TRUE(experiment.report.is_null());
  EXPECT_EQ(case_key_text(experiment.fixed),
            "architecture=swiglu, attention=naive, backend=auto, batch=4, communication=none, "
            "compile=eager, device=auto, measure.cache=warm, measure.calls_per_sample=1, "
            "measure.clock=auto, measure.interleave=, measure.isolation=shared, "
            "measure.max_samples=1000, measure.max_time=10, measure.min_samples=10, "
            "measure.samples=10, measure.seed=0, measure.target=0, measure.timeout=600, "
            "measure.unhealthy=mark, measure.warmup=5, "
            "model=small, nodes=1, norm=rmsnorm, precision=fp32, repeat=0, seq_len=256, "
            "workload=model_step, world_size=1");
  EXPECT_EQ(experiment.presets.at("model/small")["d_model"], 768);
}

TEST(Experiment, KeepsTypes) {
  const Experiment experiment = parsed(
      "experiment: test\nworkload: transfer\n"
      "fixed: {size: 100 MiB, pause: 200 ms, share: 1, machine: 8}\n"
      "measure: {timeout: 5 min, samples: 1e2}\n");
  EXPECT_EQ(experiment.fixed.at("size"), Value(std::int64_t{104857600}));
  EXPECT_EQ(experiment.fixed.at("pause"), Value(0.2));
  EXPECT_EQ(experiment.fixed.at("share"), Value(1.0));
  EXPECT_EQ(experiment.fixed.at("machine"), Value(std::string("8")));
  EXPECT_EQ(experiment.fixed.at("measure.timeout"), Value(300.0));
  EXPECT_EQ(experiment.fixed.at("measure.samples"), Value(std::int64_t{100}));
  EXPECT_EQ(experiment.passes, std::vector<std::string>{"send"});
}

TEST(Experiment, InterleavesOverAnyNameOfACaseOrNone) {
  const auto interleaved = [](const std::string& measure) {
    return parsed(on_attention("measure: {" + measure + "}\n")).fixed.at("measure.interleave");
  };
  EXPECT_EQ(interleaved("warmup: 1"), Value(std::string()));
  EXPECT_EQ(interleaved("interleave: ''"), Value(std::string()));
  for (const char* name : {"attention", "seq_len", "attention.block_m", "world_size", "repeat",
                           "machine", "measure.warmup"}) {
    EXPECT_EQ(interleaved(std::string("interleave: ") + name), Value(std::string(name)));
  }
}

TEST(Experiment, AShareMayBeAPercentage) {
  for (const char* written : {"0.05", "5%", "5 %", "5.0 %", "5e0%", "'5%'"}) {
    const Experiment experiment =
        parsed(std::string("experiment: test\nworkload: transfer\nfixed: {size: 1 B}\n") +
               "measure: {target: " + written + ", max_time: 500 ms}\n");
    EXPECT_EQ(experiment.fixed.at("measure.target"), Value(0.05)) << written;
    EXPECT_EQ(experiment.fixed.at("measure.max_time"), Value(0.5));
  }
}

TEST(Experiment, TellsWhatTheUserNamed) {
  const Experiment experiment =
      parsed(on_attention("matrix: {seq_len: [1, 2], attention: [naive]}\nfixed: {batch: 3}\n"
                          "measure: {warmup: 1}\n"),
             {{"precision=bf16"}, {}});
  EXPECT_EQ(experiment.pinned,
            (std::set<std::string>{"attention", "batch", "precision", "seq_len"}));
}

TEST(Experiment, ReadsAModelFromAFileBesideIt) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "assay-config-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(write_file(folder + "/mine.yaml",
                         "d_model: 8\nd_ff: 3.2e1\nlayers: 1\nheads: 2\nvocab_size: 10\n"));
  ASSERT_TRUE(write_file(folder + "/wrong.yaml", "d_model: wide\nlayer: 3\nd_ff: 0\nheads: 2\n"));
  ASSERT_TRUE(write_file(folder + "/broken.yaml", "d_model: 8\nd_model: 9\n"));
  ASSERT_TRUE(write_file(folder + "/e.yaml",
                         "experiment: e\nworkload: model_step\nmatrix: {model: [mine.yaml]}\n"));
  const auto experiment = read_experiment(folder + "/e.yaml", test_environment());
  ASSERT_TRUE(experiment) << experiment.error().text();
  EXPECT_EQ(experiment->presets.at("model/mine.yaml")["d_model"], 8);
  EXPECT_TRUE(experiment->presets.at("model/mine.yaml")["d_ff"].is_number_integer());
  const auto broken =
      read_experiment(folder + "/e.yaml", test_environment(), {{"model=broken.yaml"}, {}});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().text(),
            folder +
                "/broken.yaml:2:1: model: the key 'd_model' is given twice; first at line 1, "
                "column 1");
  // All mistakes at once, each only once however often the file is named.
  ASSERT_TRUE(write_file(folder + "/f.yaml",
                         "experiment: f\nworkload: model_step\nmatrix: {model: [wrong.yaml]}\n"
                         "include: [{model: wrong.yaml, batch: 0}]\n"));
  const auto wrong = read_experiment(folder + "/f.yaml", test_environment());
  ASSERT_FALSE(wrong);
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : wrong.error().diagnostics) {
    messages.push_back(fmt::format("{}:{} {}", diagnostic.where.line, diagnostic.where.column,
                                   diagnostic.message));
  }
  EXPECT_THAT(messages,
              testing::UnorderedElementsAre(
                  "1:10 d_model: 'wide' does not fit",
                  "2:1 unknown field 'layer'; did you mean 'layers'? known: d_model, d_ff, "
                  "layers, heads, vocab_size",
                  "3:7 d_ff: 0 is out of bounds", "1:1 the field 'layers' is missing",
                  "1:1 the field 'vocab_size' is missing", testing::HasSubstr("batch: 0")));
  fs::remove_all(folder);
}

TEST(Set, ReplacesAddsAndFixes) {
  const std::string text = on_attention(
      "matrix: {seq_len: [128, 256], attention: [naive, {tiled: {block_m: [16, 32]}}]}\n"
      "fixed: {batch: 2}\nmeasure: {warmup: 5}\n");
  EXPECT_EQ(cases(planned(text, {{"seq_len=[7]", "attention=naive"}, {}}),
                  {"seq_len", "attention", "batch"}),
            (Rows{"7 naive 2"}));
  EXPECT_EQ(cases(planned(text, {{"batch=[3, 4]", "attention=naive", "seq_len=9"}, {}}),
                  {"seq_len", "batch"}),
            (Rows{"9 3", "9 4"}));
  EXPECT_EQ(cases(planned(text, {{"precision=bf16", "measure.warmup=0", "attention=flash"}, {}}),
                  {"precision", "measure.warmup", "seq_len"}),
            (Rows{"bf16 0 128", "bf16 0 256"}));
  EXPECT_EQ(parsed(text, {{"measure.passes=[forward]"}, {}}).passes,
            std::vector<std::string>{"forward"});
  EXPECT_EQ(parsed(text, {{"limits.cases=12"}, {}}).case_limit, 12u);
}

TEST(Set, ADottedOptionReplacesTheNestedOne) {
  const Plan plan = planned(on_attention("matrix: {attention: [{tiled: {block_m: 32}}]}\n"),
                            {{"attention.block_m=[64, 128]"}, {}});
  EXPECT_EQ(cases(plan, {"attention.block_m"}), (Rows{"64", "128"}));
}

TEST(Set, LeavesOutOptionsOfVariantsItTookAway) {
  const Plan plan = planned(on_attention("matrix: {attention: [naive, tiled], "
                                         "attention.block_m: [16, 32], batch: [1, 2]}\n"),
                            {{"attention=naive"}, {}});
  EXPECT_EQ(cases(plan, {"attention", "attention.block_m", "batch"}),
            (Rows{"naive  1", "naive  2"}));
}

TEST(KeyText, IsSortedByName) {
  EXPECT_EQ(case_key_text({{"b", 0.5}, {"a", true}, {"c", std::string("x")}}),
            "a=true, b=0.5, c=x");
}

TEST(HostParameters, DefaultsKeepTheirOwnBounds) {
  for (const ParameterInfo& info : host_parameters()) {
    EXPECT_FALSE(info.description.empty()) << info.name;
    const Value& value = info.default_value;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      EXPECT_GE(static_cast<double>(*number), *info.minimum) << info.name;
      EXPECT_LE(static_cast<double>(*number), *info.maximum) << info.name;
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (info.type != ParameterType::choice) continue;
      EXPECT_EQ(std::count(info.choices.begin(), info.choices.end(), *text), 1) << info.name;
    }
  }
}

}  // namespace
}  // namespace assay::config
