#include <fmt/format.h>

#include <map>

#include "measure/memory.h"
#include "plugins/support.h"

// What the workload records, through the boundary that the worker uses.
namespace assay {
namespace {

// Keeps numbers and words under "metric/part", and artefacts by name.
class Kept final : public RecorderBoundary {
 public:
  Status samples(std::string_view metric, std::string_view part,
                 std::span<const double> values) noexcept override {
    numbers[key(metric, part)] = values.front();
    return {};
  }
  Status word(std::string_view metric, std::string_view part,
              std::string_view word) noexcept override {
    words[key(metric, part)] = word;
    return {};
  }
  Status span(std::string_view, std::string_view, double, double) noexcept override { return {}; }
  double now_s() const noexcept override { return 0; }
  Status artefact(std::string_view name, std::string_view,
                  std::string_view content) noexcept override {
    files[std::string(name)] = content;
    return {};
  }
  Status artefact_file(std::string_view, std::string_view,
                       std::filesystem::path&) noexcept override {
    return {};
  }

  std::map<std::string, double> numbers;
  std::map<std::string, std::string> words, files;

 private:
  static std::string key(std::string_view metric, std::string_view part) {
    return std::string(metric) + "/" + std::string(part);
  }
};

Kept answer(const Options& parameters) {
  const auto& entry = test::entry("workload", "accounting", "accounting");
  PluginDescription description;
  throw_unless_ok(entry.describe(description));
  CaseContext context;
  for (const auto& each : description.parameters) {
    context.parameters[each.name] = each.default_value;
  }
  for (const auto& [name, value] : parameters) context.parameters[name] = value;
  context.precision.autocast = at::kBFloat16;
  const auto whole = [](std::int64_t value) { return Value(value); };
  context.presets["model"] = {{"d_model", whole(16384)},
                              {"d_ff", whole(53248)},
                              {"layers", whole(126)},
                              {"heads", whole(128)},
                              {"vocab_size", whole(10000)}};
  context.presets["accelerator"] = {
      {"memory", whole(80'000'000'000)}, {"memory_bandwidth", 3e12}, {"bf16_flops", 900e12},
      {"link_bandwidth", 450e9},         {"link_axes", 1.0},         {"node_devices", 8.0},
      {"node_bandwidth", 50e9}};
  const auto workload = test::make<WorkloadBoundary>(entry);
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(workload->build(context, program));
  throw_unless_ok(program->run("account"));
  Kept kept;
  throw_unless_ok(program->record("account", kept));
  return kept;
}

Options ask(const char* question) {
  return {{"question", std::string(question)}, {"architecture", std::string("ffn")}};
}

TEST(AccountingWorkload, AnswersWithNumbersAndTheirWorking) {
  Kept kept = answer(ask("state"));
  EXPECT_EQ(kept.numbers["parameters/"], 219'848'638'464);
  EXPECT_EQ(kept.numbers["devices/"], 44);
  EXPECT_EQ(kept.words["formula/state: weights"], "4 * P");
  EXPECT_EQ(kept.words["substitution/state: weights"], "4 * 219848638464");
  EXPECT_EQ(kept.words["result/state: weights"], "879.39");
  EXPECT_EQ(kept.words["unit/state: weights"], "GB");
  EXPECT_EQ(kept.words["result/state: state"], "3,517.58");
  EXPECT_EQ(kept.words["result/bf16: bf16 weights"], "439.70");
  EXPECT_EQ(kept.words["result/parameters: parameters"], "219,848,638,464");
}

// What a question gives takes the machine's place: 4.6e14 / 1.8e11 / 2 / 4 = 319.4.
TEST(AccountingWorkload, TakesGivenFigures) {
  Options asked = ask("bound");
  asked["shards"] = std::int64_t{16};
  asked["tensor_parallel"] = std::int64_t{4};
  asked["data_axes"] = std::int64_t{2};
  asked["given_flops"] = 4.6e14;
  asked["given_bandwidth"] = 1.8e11;
  Kept kept = answer(asked);
  EXPECT_EQ(kept.numbers["bound_batch/device"], 320);
  EXPECT_EQ(kept.numbers["bound_batch/overall"], 20480);
  // 900e12 / 450e9 = 2000, by one axis of four: 500 tokens.
  asked["given_flops"] = 0.0;
  asked["given_bandwidth"] = 0.0;
  asked["data_axes"] = std::int64_t{1};
  EXPECT_EQ(answer(asked).numbers["bound_batch/device"], 500);
}

TEST(AccountingWorkload, DrawsItsSearch) {
  Options asked = ask("mesh");
  asked["devices"] = std::int64_t{64};
  asked["batch"] = std::int64_t{64};
  Kept kept = answer(asked);
  EXPECT_LE(kept.numbers["device_memory/"], 80e9);
  EXPECT_NE(kept.files["search.svg"].find("best: " + kept.words["best_mesh/"]), std::string::npos);
  asked["memory_limit"] = std::int64_t{1'000'000'000};
  kept = answer(asked);
  EXPECT_EQ(kept.words["best_mesh/"], "none fits");
  EXPECT_EQ(kept.numbers["meshes/within the limit"], 0);
}

struct Predicted {
  std::string architecture, attention, precision, pass;
  std::int64_t batch = 2, seq_len = 256, checkpoint_every = 0, layers = 4;
};

test::Case predicting(const Predicted& step) {
  test::Case made = test::make_case(
      {.workload = "model_step", .attention = step.attention, .precision = step.precision});
  test::set_model(made.context, step.architecture, step.batch, step.seq_len, 64, 256, step.layers,
                  2);
  made.context.parameters["attention"] = step.attention;
  made.context.parameters["norm"] = std::string("rmsnorm");
  made.context.parameters["predict"] = true;
  made.context.parameters["checkpoint_every"] = step.checkpoint_every;
  return made;
}

class PredictedMemory : public testing::TestWithParam<Predicted> {};

// What the allocator counts in a pass, against what the program predicts of it.
TEST_P(PredictedMemory, IsThePeakThatIsMeasured) {
  const std::string& pass = GetParam().pass;
  const measure::CpuMemoryScope counted;
  const test::Case tested = predicting(GetParam());
  const auto program = test::build(tested);
  measure::MemoryUse used;
  // The first call makes what later ones keep.
  for (int call = 0; call < 2; ++call) {
    throw_unless_ok(program->before(pass));
    used = measure::observe_memory(at::kCPU, [&] { throw_unless_ok(program->run(pass)); });
  }
  Kept kept;
  throw_unless_ok(program->record(pass, kept));
  const double predicted = kept.numbers["predicted_memory/"];
  EXPECT_NEAR(predicted, static_cast<double>(used.peak_bytes), 0.05 * predicted);
  double parts = 0;
  for (const char* part : {"parameters", "gradients", "optimizer", "activations"}) {
    parts += kept.numbers[std::string("predicted_memory/") + part];
  }
  EXPECT_DOUBLE_EQ(parts, predicted);
}

std::string name_of(const testing::TestParamInfo<Predicted>& tested) {
  const Predicted& of = tested.param;
  return fmt::format("{}_{}_{}_{}_{}x{}_every{}", of.architecture, of.attention, of.precision,
                     of.pass, of.batch, of.seq_len, of.checkpoint_every);
}

INSTANTIATE_TEST_SUITE_P(
    Steps, PredictedMemory,
    testing::Values(Predicted{"swiglu", "math_libtorch", "fp32", "forward"},
                    Predicted{"swiglu", "math_libtorch", "fp32", "train_step"},
                    Predicted{"swiglu", "math_libtorch", "bf16", "train_step"},
                    Predicted{"swiglu", "naive", "bf16", "train_step"},
                    Predicted{"gelu", "math_libtorch", "fp32", "train_step"},
                    Predicted{"gelu", "naive", "fp32", "backward"},
                    Predicted{"swiglu", "naive", "fp32", "inference"},
                    Predicted{"swiglu", "naive", "bf16", "inference"},
                    Predicted{"gelu", "naive", "fp32", "inference"},
                    Predicted{"swiglu", "math_libtorch", "fp32", "inference"},
                    Predicted{"swiglu", "naive", "fp32", "inference", 4, 32},
                    Predicted{"swiglu", "naive", "fp32", "train_step", 2, 256, 1},
                    Predicted{"swiglu", "naive", "fp32", "train_step", 2, 256, 2},
                    Predicted{"swiglu", "naive", "fp32", "train_step", 2, 256, 3},
                    Predicted{"gelu", "naive", "fp32", "train_step", 2, 256, 2},
                    Predicted{"swiglu", "naive", "bf16", "train_step", 2, 256, 2},
                    Predicted{"swiglu", "naive", "fp32", "train_step", 4, 64, 1},
                    Predicted{"swiglu", "naive", "fp32", "forward", 2, 256, 1}),
    name_of);

// The table of the accounting's examples: both passes at each batch, context and architecture.
std::vector<Predicted> examples() {
  std::vector<Predicted> all;
  for (const char* architecture : {"swiglu", "gelu"}) {
    for (const std::int64_t batch : {1, 4}) {
      for (const std::int64_t seq_len : {128, 512, 1024}) {
        for (const char* pass : {"forward", "train_step"}) {
          all.push_back(
              {architecture, "math_libtorch", "fp32", pass, batch, seq_len, 0, /*layers=*/2});
        }
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Examples, PredictedMemory, testing::ValuesIn(examples()), name_of);

}  // namespace
}  // namespace assay
