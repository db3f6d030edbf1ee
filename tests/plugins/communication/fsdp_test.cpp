// What fsdp gathers, and when.

#include <ATen/ops/ones.h>

#include <algorithm>

#include "done_work.h"
#include "measure/memory.h"
#include "plugins/recorded.h"
#include "ranks.h"
#include "trained_together.h"

namespace assay {
namespace {

// Stands for two ranks, and notes how many elements are gathered.
class NotedGathers final : public c10d::Backend {
 public:
  NotedGathers() : Backend(0, 2) {}
  using Work = c10::intrusive_ptr<c10d::Work>;
  const std::string getBackendName() const override { return "gloo"; }
  Work broadcast(std::vector<at::Tensor>&, const c10d::BroadcastOptions&) override {
    return c10::make_intrusive<test::DoneWork>();
  }
  Work _allgather_base(at::Tensor& out, at::Tensor&, const c10d::AllgatherOptions&) override {
    elements.push_back(out.numel());
    return c10::make_intrusive<test::DoneWork>();
  }
  std::vector<std::int64_t> elements;
};

constexpr std::int64_t embedding_elements = 6400, matrix_elements = 4096, norm_elements = 128;

// An embedding, two blocks of a matrix, and a head of a norm that uses the embedding, too.
TrainedModel tied_model() {
  const auto parameter = [](std::int64_t elements) {
    return at::ones({elements}, at::kFloat).requires_grad_();
  };
  TrainedModel model;
  model.parameters = {{"embedding", parameter(embedding_elements)},
                      {"first", parameter(matrix_elements)},
                      {"second", parameter(matrix_elements)},
                      {"norm", parameter(norm_elements)}};
  model.blocks = {{"embedding", {0}}, {"blocks.0", {1}}, {"blocks.1", {2}}, {"head", {3, 0}}};
  return model;
}

TEST(Fsdp, GathersATiedEmbeddingAheadOfTheHead) {
  const auto backend = c10::make_intrusive<NotedGathers>();
  const auto fsdp = test::make_variant(test::setup_of("fsdp"));
  throw_unless_ok(fsdp->attach(tied_model(), Mesh({0, 2, backend}), {}));
  const auto of_the_embedding = [&] {
    return std::ranges::count(backend->elements, embedding_elements);
  };
  for (int block = 0; block < 2; ++block) {
    throw_unless_ok(fsdp->before_forward(block));
    throw_unless_ok(fsdp->after_forward(block));
  }
  EXPECT_EQ(of_the_embedding(), 1);
  throw_unless_ok(fsdp->before_forward(2));
  EXPECT_EQ(of_the_embedding(), 2) << "the head comes next";
  EXPECT_EQ(std::ranges::count(backend->elements, norm_elements), 1);
  throw_unless_ok(fsdp->after_forward(2));
  const std::size_t gathered = backend->elements.size();
  throw_unless_ok(fsdp->before_forward(3));
  throw_unless_ok(fsdp->after_forward(3));
  EXPECT_EQ(backend->elements.size(), gathered);
}

struct Volume {
  const char* architecture;  // gelu: the embedding is tied
  bool reshards;
  std::int64_t blocks = 1;
};

// From the calls that were made, and by the variant's definition; buffers are padded.
TEST(Fsdp, SendsWhatItIsSaidToSend) {
  for (const Volume& volume :
       {Volume{"swiglu", true}, Volume{"swiglu", false}, Volume{"gelu", true},
        Volume{"gelu", false}, Volume{"gelu", true, 2}, Volume{"gelu", true, 4}}) {
    for (const char* precision : {"fp32", "bf16"}) {
      test::on_ranks(2, [&](const Group& group) {
        test::CaseNames names;
        names.workload = "model_step";
        names.precision = precision;
        auto tested = test::make_case(names);
        test::set_model(tested.context, volume.architecture, 1, 8, 64, 128);
        tested.context.parameters["record_memory"] = true;
        const auto fsdp = test::make_variant(test::setup_of(
            "fsdp", {{"reshard_after_forward", volume.reshards}, {"blocks", volume.blocks}}));
        tested.context.communication = fsdp.get();
        tested.context.group = group;
        tested.context.mesh = Mesh(group);
        const auto recorded = test::recorded(tested, "model_step", "train_step");
        const double measured = recorded.value("communication_volume", "measured");
        EXPECT_NEAR(recorded.value("communication_volume", "counted"), measured, 0.01 * measured)
            << volume.architecture << " " << volume.reshards << " " << volume.blocks << " "
            << precision;
      });
    }
  }
}

// Drawn whole, then cut: more is held while the model is made than afterwards.
TEST(Fsdp, ThePeakOfMakingTheModelHasItWhole) {
  test::on_ranks(2, [&](const Group& group) {
    const measure::CpuMemoryScope counted;
    test::CaseNames names;
    names.workload = "model_step";
    auto tested = test::make_case(names);
    test::set_model(tested.context, "swiglu", 1, 8, 64, 128);
    tested.context.parameters["record_memory"] = true;
    const auto fsdp = test::make_variant(test::setup_of("fsdp"));
    tested.context.communication = fsdp.get();
    tested.context.group = group;
    tested.context.mesh = Mesh(group);
    const auto recorded = test::recorded(tested, "model_step", "train_step");
    EXPECT_GT(recorded.value("peak_memory", "after_init"),
              1.9 * recorded.value("state_memory", "parameters"));
  });
}

}  // namespace
}  // namespace assay
