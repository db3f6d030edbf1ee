#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "accounting/bounds.h"
#include "accounting/mesh_search.h"
#include "accounting/roofline.h"
#include "accounting/saved.h"
#include "accounting/sharing.h"
#include "expression/expression.h"

// Expected values are worked out by hand in the comments, from the model's shapes.
namespace assay::accounting {
namespace {

Options sizes(std::int64_t d, std::int64_t f, std::int64_t layers, std::int64_t heads,
              std::int64_t vocab) {
  return {{"d_model", d}, {"d_ff", f}, {"layers", layers}, {"heads", heads}, {"vocab_size", vocab}};
}

Model xxl() { return counted_model(sizes(16384, 53248, 126, 128, 10000), "ffn", 1); }

Model sample(const std::string& architecture, std::int64_t context = 128) {
  return counted_model(sizes(768, 3072, 12, 12, 10000), architecture, context);
}

// Of an expression without names; NaN where it is none.
double evaluated(const std::string& text) {
  const auto expression = Expression::compile(text);
  if (!expression || !expression->names().empty()) return NAN;
  const auto value = expression->evaluate(std::vector<Value>{});
  if (!value) return NAN;
  const auto* real = std::get_if<double>(&*value);
  return real != nullptr ? *real : static_cast<double>(std::get<std::int64_t>(*value));
}

Machine h100() {
  Machine machine;
  machine.memory = 80e9;
  machine.memory_bandwidth = 3.352e12;
  machine.bf16_flops = 989.4e12;
  machine.link_bandwidth = 450e9;
  machine.node_devices = 8;
  machine.node_bandwidth = 50e9;
  return machine;
}

// 16384 · 53248 = 872,415,232; twice that in a block; times 126.
TEST(Accounting, CountsTheVeryLargeModel) {
  const double parameters = value_of(parameters_by_part(xxl()), "parameters");
  EXPECT_EQ(parameters, 219'848'638'464);
  const Quantities state = training_state(parameters);
  EXPECT_EQ(value_of(state, "state"), 3'517'578'215'424);  // 16 bytes each
  EXPECT_EQ(value_of(state, "weights"), 879'394'553'856);
  const Quantities copies = bf16_copies(parameters);
  EXPECT_EQ(value_of(copies, "bf16 weights"), 439'697'276'928);
  EXPECT_EQ(value_of(copies, "bf16 gradients"), 439'697'276'928);
  EXPECT_EQ(value_of(copies, "less than in fp32"), 879'394'553'856);
  // 3517.58 / 80 = 43.97.
  EXPECT_EQ(devices_for(value_of(state, "state"), 80e9).value, 44);
}

// The catalogue's figures.
TEST(Accounting, CountsTheParametersOfBothArchitectures) {
  EXPECT_EQ(value_of(parameters_by_part(sample("swiglu")), "parameters"), 128'625'408);
  EXPECT_EQ(value_of(parameters_by_part(sample("gelu")), "parameters"), 92'633'856 + 768 * 128);
}

TEST(Accounting, CountsTheFlopsThatModelStepCounts) {
  for (const auto architecture : {model::Architecture::swiglu, model::Architecture::gelu}) {
    const auto config = model::model_config(sizes(768, 3072, 12, 12, 10000), architecture, 128);
    const Quantities flops = flops_by_part(counted_model(config), {4, 128});
    EXPECT_EQ(value_of(flops, "forward, causal"), model::forward_flops(config, 4, 128));
  }
}

// Scores of one head: [128, 64] × [64, 128], 2 · 128 · 128 · 64 = 2,097,152; 12 heads, 12 layers, 4
// sequences: 576 of them.
TEST(Accounting, CountsAttentionOverWholeMatrices) {
  const Quantities flops = flops_by_part(sample("swiglu"), {4, 128});
  EXPECT_EQ(value_of(flops, "scores"), 576.0 * 2'097'152);
  EXPECT_EQ(value_of(flops, "values"), 576.0 * 2'097'152);
}

// A token keeps both layers' inputs in two bytes: 2 · (16384 + 53248) = 139,264; 126 blocks.
TEST(Accounting, SavesTheInputsOfTheSimplifiedLayers) {
  const Computing mixed{.mixed = true};
  EXPECT_EQ(saved_by_part(xxl(), {1, 1}, mixed).back().value, 17'547'264);
  EXPECT_EQ(saved_by_part(xxl(), {3, 1000}, mixed).back().value, 3000.0 * 17'547'264);
}

// One sequence of 128 tokens in fp32, T d = 98,304 and T f = 393,216 elements, by hand: two norms
// keep x and x / rms (4 T d) and 2 T; two norm outputs; q, k, v; 12 · 128² = 196,608 probabilities;
// the attention's output; 4 T f; and 2 · 128 · 32 complex turns of 8 bytes.
TEST(Accounting, SavesWhatABlockOfSwigluSaves) {
  const double elements =
      4 * 98'304 + 2 * 128 + 2 * 98'304 + 3 * 98'304 + 196'608 + 98'304 + 4 * 393'216;
  EXPECT_EQ(saved_by_block(sample("swiglu"), {1, 128}, {}).back().value,
            4 * elements + 2 * 128 * 32 * 8);
}

TEST(Accounting, CountsTheWorkspaceOfMatrixProducts) {
  const Quantities without = peak_by_part(sample("swiglu"), {4, 128}, {}, "forward");
  const Quantities with = peak_by_part(sample("swiglu"), {4, 128}, {.workspace = 1e6}, "forward");
  EXPECT_EQ(value_of(with, "workspace"), 1e6);
  EXPECT_EQ(value_of(with, "peak"), value_of(without, "peak") + 1e6);
  EXPECT_THROW(value_of(without, "workspace"), std::out_of_range);
}

// Twelve blocks in groups of five: three checkpoints of the residual (4 T d) and two of what the
// block before adds, then the last norm, the head's input and the log-probabilities.
TEST(Accounting, SavesCheckpointsInsteadOfBlocks) {
  const double residual = 4 * 98'304;
  const double ends = 4 * (2 * 98'304 + 128) + residual + 4.0 * 128 * 10'000;
  const Quantities saved = saved_by_part(sample("swiglu"), {1, 128}, {.checkpoint_every = 5});
  EXPECT_EQ(value_of(saved, "checkpoints"), 3 * residual + 2 * residual);
  EXPECT_EQ(value_of(saved, "saved for backward"), 5 * residual + ends);
}

// The matrices of twelve blocks, 4 · 768² + 3 · 768 · 3072 each, and the head's, in two bytes.
TEST(Accounting, CountsAutocastsCopies) {
  const double block = 4.0 * 768 * 768 + 3.0 * 768 * 3072, head = 768.0 * 10'000;
  EXPECT_EQ(copies_by_autocast(sample("swiglu"), {.mixed = true}).value, 2 * (12 * block + head));
  EXPECT_EQ(copies_by_autocast(sample("swiglu"), {.mixed = true, .checkpoint_every = 1}).value,
            2 * head);
  EXPECT_EQ(copies_by_autocast(sample("swiglu"), {}).value, 0);
}

// The formula in words is evaluated anew, far from where it was read off.
TEST(Accounting, WritesTheActivationsAsAFormulaInBatchAndContext) {
  for (const char* architecture : {"swiglu", "gelu"}) {
    for (const char* attention : {"math_libtorch", "flash_libtorch"}) {
      for (const bool mixed : {false, true}) {
        for (const int every : {0, 4}) {
          const Computing by{.mixed = mixed, .attention = attention, .checkpoint_every = every};
          const std::string text = activation_formula(sample(architecture), by);
          for (const auto& [sequences, tokens] : {std::pair(3.0, 128.0), std::pair(16.0, 1024.0)}) {
            const double expected =
                saved_by_part(sample(architecture), {sequences, tokens}, by).back().value +
                copies_by_autocast(sample(architecture), by).value;
            EXPECT_DOUBLE_EQ(evaluated(substituted(text, {{"B", sequences}, {"S", tokens}})),
                             expected)
                << text;
          }
        }
      }
    }
  }
}

// A batch of 4096 tokens: A / 2 = 4096 · 8,773,632 = 35,936,796,672; 95 GB leave 59,063,203,328 for
// (3,517,578,215,424 + 35,936,796,672) / N: N > 60.165.
TEST(Accounting, FindsTheFewestShards) {
  const double parameters = 219'848'638'464, activations = 4096.0 * 17'547'264;
  const auto of = [&](double shards) {
    return sharded_memory(parameters, activations, shards, 95e9);
  };
  EXPECT_EQ(value_of(of(1), "shards"), 61);
  EXPECT_LT(value_of(of(61), "device memory"), 95e9);
  EXPECT_GT(value_of(of(60), "device memory"), 95e9);
  // Without activations 3517.58 / 95 = 37.03.
  EXPECT_EQ(value_of(sharded_memory(parameters, 0, 1, 95e9), "shards"), 38);
  // 2 · 95 GB of activations leave no room.
  EXPECT_THROW(value_of(sharded_memory(parameters, 190e9, 1, 95e9), "shards"), std::out_of_range);
}

Spread question() {
  return {.d = 16384,
          .f = 53248,
          .shards = 16,
          .tensor = 4,
          .data_axes = 2,
          .tensor_axes = 1,
          .flops = 4.6e14,
          .bandwidth = 1.8e11};
}

// C / W = 2555.56; a device needs 2555.56 / 2 / 4 = 319.44 tokens, 64 devices 20,444.4. The tensor
// axis allows 53248 / 2555.56 = 20.8 ranks. In turn a share 4 / 20.8363 of the time is the tensor
// axis's: 319.44 / 0.80803 = 395.3.
TEST(Accounting, FindsTheComputeBoundBatch) {
  const Quantities bound = compute_bound(question());
  EXPECT_NEAR(value_of(bound, "tokens for the data axis"), 20444.44, 0.01);
  EXPECT_EQ(value_of(bound, "device"), 320);
  EXPECT_EQ(value_of(bound, "overall"), 20480);
  EXPECT_NEAR(value_of(bound, "largest tensor"), 20.836, 0.001);
  EXPECT_EQ(value_of(bound, "device, collectives in turn"), 396);
}

// At the bound the forward's compute and its gathers take the same time.
TEST(Accounting, BoundsMeetAtTheLeastBatch) {
  for (const std::string way : {"dp", "fsdp", "fsdp and tp"}) {
    const double least = value_of(bounds_of_way(way, question(), 1), "least tokens");
    const Quantities there = bounds_of_way(way, question(), least);
    EXPECT_NEAR(value_of(there, "compute") / value_of(there, "communication"), 1, 1e-12) << way;
  }
}

TEST(Accounting, MeansShrinkTheBatch) {
  const auto tokens = [](const char* means) {
    return with_means(means, question(), 8192).tokens.value;
  };
  EXPECT_EQ(tokens("plain"), 320);                             // 319.44
  EXPECT_EQ(tokens("more mesh axes"), 213);                    // 2 / 3 of it, 212.96
  EXPECT_EQ(tokens("more tensor parallelism"), 160);           // half, 159.72
  EXPECT_EQ(tokens("best split of the devices"), 62);          // 2555.56² / (2 · 53248) = 61.33
  EXPECT_EQ(tokens("pipeline parallelism"), 80);               // a quarter, 79.86
  EXPECT_EQ(tokens("compressed gradients"), 267);              // 5 / 6, 266.2
  EXPECT_EQ(tokens("compressed weights and gradients"), 134);  // 2.5 / 6, 133.1
  EXPECT_EQ(tokens("no overlap"), 2875);                       // nine times
  // A sequence for each of 16 data ranks; with eight ranks a sequence 20480 / 8192 = 2.5 count.
  EXPECT_EQ(with_means("plain", question(), 8192).sequences.value, 16);
  EXPECT_EQ(with_means("context parallelism", question(), 8192).sequences.value, 3);
}

// 100 bytes over 4 ranks at 10 byte/s: each sends 2 · 3 / 4 of them.
TEST(Accounting, RingSendsTwiceWhatOthersLack) {
  EXPECT_DOUBLE_EQ(ring_all_reduce(100, 4, 10).value, 15);
}

TEST(Accounting, DividesStateByStage) {
  const double parameters = value_of(parameters_by_part(xxl()), "parameters");
  for (int zero = 0; zero <= 3; ++zero) {
    const Quantities memory = device_memory(xxl(), {8, 1}, {.data = 8, .zero = zero});
    const double expected[] = {16, 4 + 4 + 1, 4 + 0.5 + 1, 0.5 + 0.5 + 1};
    const double activations = value_of(memory, "activations");
    EXPECT_DOUBLE_EQ(value_of(memory, "device memory") - activations, expected[zero] * parameters);
  }
}

// 1000 tokens a rank, d 16384, 126 blocks, two all-reduces each (forward, backward) of 2 · 3 / 4 of
// 32,768,000 bytes; data: 2 · 1 / 2 · 2 bytes of a quarter of the parameters.
TEST(Accounting, CountsWhatADeviceSends) {
  const Quantities sent = sent_by_device(xxl(), {2, 1000}, {.data = 2, .tensor = 4});
  EXPECT_DOUBLE_EQ(value_of(sent, "tensor"), 126.0 * 2 * 1.5 * 32'768'000);
  EXPECT_DOUBLE_EQ(value_of(sent, "data"), 219'848'638'464.0 / 4 * 2);
  EXPECT_EQ(value_of(sent, "pipeline"), 0);
}

// All ways of writing 8 as a product of three, 10, of which 12 layers and heads allow no stage or
// tensor rank of 8.
TEST(Accounting, SearchTriesEveryMeshAndTakesTheFastestThatFits) {
  const Model model = sample("swiglu");
  const MeshSearch search = search_mesh(model, {8, 128}, 8, h100(), 2e9);
  std::set<std::pair<int, int>> shapes;
  double fastest = INFINITY;
  for (const Candidate& each : search.candidates) {
    EXPECT_EQ(each.mesh.devices(), 8);
    shapes.insert({each.mesh.tensor, each.mesh.pipeline});
    if (each.memory <= 2e9) fastest = std::min(fastest, each.time_s);
  }
  EXPECT_EQ(shapes.size(), 8u);
  ASSERT_TRUE(search.best);
  EXPECT_LE(search.best->memory, 2e9);
  EXPECT_EQ(search.best->time_s, fastest);
  EXPECT_NE(search_picture(search, 2e9).find("limit 2 GB"), std::string::npos);
  EXPECT_FALSE(search_mesh(model, {8, 128}, 8, h100(), 1e6).best);
}

// The text of a working and its value come from two places: the text is computed again.
// 1000 parameters, 800 of them computed in 16 bit, on four ranks.
TEST(Accounting, RanksHoldTheirShareOfWhatIsSharded) {
  const auto of = [](const Sharing& sharing, const char* name) {
    return value_of(rank_state(1000, 800, 4, sharing), name);
  };
  EXPECT_EQ(of({}, "state"), 16'000);
  EXPECT_EQ(of({.copies = true}, "parameters"), 5600);
  const Sharing optimizer = {.moments = true, .copies = true};
  EXPECT_EQ(of(optimizer, "parameters"), 4 * 200 + 800 + 1600);
  EXPECT_EQ(of(optimizer, "gradients"), 4000);
  EXPECT_EQ(of(optimizer, "optimizer"), 2000);
  const Sharing all = {.parameters = true, .gradients = true, .moments = true, .gradient_bytes = 2};
  EXPECT_EQ(of(all, "state"), 1000 + 500 + 2000);
}

TEST(Accounting, RanksSendTheirShareOncePerRound) {
  const auto of = [](const Sharing& sharing) { return rank_volume(1000, 800, 4, sharing).value; };
  EXPECT_EQ(of({}), 0);
  EXPECT_EQ(of({.gradient_rounds = 2}), 6000);
  EXPECT_EQ(of({.gradient_bytes = 2, .gradient_rounds = 2}), 3000);
  EXPECT_EQ(of({.moments = true, .gradient_rounds = 2, .parameter_rounds = 1}), 9000);
  // 3000 of gradients; twice 3/4 of 800 bytes in fp32 and 1600 in 16 bit.
  EXPECT_EQ(of({.parameters = true, .gradient_rounds = 1, .parameter_rounds = 2}), 6600);
  EXPECT_EQ(ring_bytes("all_reduce", 100, 4), 150);
  EXPECT_EQ(ring_bytes("all_gather", 100, 4), 75);
}

TEST(Accounting, WorkingsGiveTheirResults) {
  const Batch batch{4, 512};
  const Mesh mesh{.data = 2, .tensor = 2, .pipeline = 2, .zero = 3, .microbatches = 2};
  std::vector<Quantities> all = {
      sharded_memory(1e9, 1e9, 8, 5e9), compute_bound(question()), {roofline_tokens(h100())},
      {ring_all_reduce(100, 4, 10)},    training_state(1e9),       bf16_copies(1e9)};
  for (const std::string architecture : {"swiglu", "gelu", "ffn"}) {
    const Model model = sample(architecture, 512);
    for (const bool mixed : {false, true}) {
      for (const char* attention : {"math_libtorch", "naive", "flash_libtorch"}) {
        all.push_back(saved_by_part(model, batch, {.mixed = mixed, .attention = attention}));
        all.push_back({copies_by_autocast(model, {.mixed = mixed})});
      }
    }
    all.push_back(saved_by_part(model, batch, {.checkpoint_every = 5}));
    all.push_back(flops_by_part(model, batch));
    all.push_back(parameters_by_part(model));
    all.push_back(sent_by_device(model, batch, mesh));
    all.push_back(step_time(model, batch, mesh, h100()));
    all.push_back(roofline_time(model, batch, {.mixed = true}, h100(), "bf16", "train_step"));
  }
  const Sharing sharing = {.moments = true, .copies = true, .gradient_rounds = 1};
  all.push_back(rank_state(1000, 800, 4, sharing));
  all.push_back(rank_state(1000, 800, 4, {.copies = true}));
  all.push_back({rank_volume(1000, 800, 4, sharing), rank_volume(1000, 800, 4, {})});
  for (const std::string& way : ways()) all.push_back(bounds_of_way(way, question(), 5000));
  for (const std::string& each : means()) {
    const Means found = with_means(each, question(), 8192);
    all.push_back({found.tokens, found.overall, found.sequences});
  }
  for (const Quantities& quantities : all) {
    for (const Quantity& each : quantities) {
      EXPECT_NEAR(evaluated(each.substitution), each.value, 1e-6 * std::fabs(each.value))
          << each.name << ": " << each.substitution;
    }
  }
}

}  // namespace
}  // namespace assay::accounting
