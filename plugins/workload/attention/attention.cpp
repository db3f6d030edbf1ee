#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <assay/compile.h>
#include <assay/workload.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "model/poisoned_memory.h"
#include "model/random.h"
#include "model/reference.h"

namespace assay {

namespace {

struct Shape {
  std::int64_t batch, heads, seq_len, d_head;
  bool causal;

  std::int64_t elements() const { return batch * heads * seq_len * d_head; }
  // (query, key) pairs that the mask leaves.
  double pairs() const {
    const auto s = static_cast<double>(seq_len);
    return static_cast<double>(batch * heads) * (causal ? s * (s + 1) / 2 : s * s);
  }
};

Shape shape_of(const CaseContext& context) {
  const auto& parameters = context.parameters;
  return {integer_option(parameters, "batch"), integer_option(parameters, "heads"),
          integer_option(parameters, "seq_len"), integer_option(parameters, "d_head"),
          boolean_option(parameters, "causal")};
}

class AttentionProgram final : public Program {
 public:
  // The output's gradient is 0 outside `rows`, where they are given.
  explicit AttentionProgram(const CaseContext& context, const at::Tensor& rows = {})
      : attention_(context.ops.attention), shape_(shape_of(context)) {
    const auto generator = model::seeded_generator(context.device, context.seed);
    const auto random = [&] {
      const std::vector<std::int64_t> sizes = {shape_.batch, shape_.heads, shape_.seq_len,
                                               shape_.d_head};
      return at::randn(sizes, generator, at::TensorOptions().device(context.device))
          .to(context.precision.compute());
    };
    in_.q = random().requires_grad_();
    in_.k = random().requires_grad_();
    in_.v = random().requires_grad_();
    in_.causal = shape_.causal;
    in_.scale = 1 / std::sqrt(static_cast<double>(shape_.d_head));
    dout_ = random();
    if (!rows.defined() || rows.size(0) == shape_.seq_len) return;
    const auto device_rows = rows.to(context.device);
    dout_ = at::zeros_like(dout_).index_copy_(2, device_rows, dout_.index_select(2, device_rows));
  }

  void before(const std::string& pass) override {
    out_ = at::Tensor();
    for (auto* input : {&in_.q, &in_.k, &in_.v}) input->mutable_grad() = at::Tensor();
    if (pass == "backward") forward();
  }

  void run(const std::string& pass) override {
    if (pass == "inference") {
      const at::NoGradGuard no_grad;
      out_ = attention_(in_);
    } else if (pass == "forward") {
      forward();
    } else if (pass == "backward") {
      backward();
    } else if (pass == "forward_backward") {
      forward();
      backward();
    } else {
      throw std::invalid_argument("attention has no pass '" + pass + "'");
    }
  }

  std::vector<NamedTensor> outputs(const std::string&) override {
    std::vector<NamedTensor> outputs = {{"out", out_.detach()}};
    const std::pair<const char*, const at::Tensor*> inputs[] = {
        {"grad.q", &in_.q}, {"grad.k", &in_.k}, {"grad.v", &in_.v}};
    for (const auto& [name, input] : inputs) {
      if (input->grad().defined()) outputs.push_back({name, input->grad()});
    }
    return outputs;
  }

  // FLOPs: QKᵀ and PV forward; backward the recomputed QKᵀ and the products for dV, dP, dQ and dK
  // (Dao 2023, section 4.1). Bytes: each tensor that must be read or written, once.
  std::vector<Count> counts(const std::string& pass) override {
    const double product = 2 * shape_.pairs() * static_cast<double>(shape_.d_head);
    const auto tensor = static_cast<double>(shape_.elements() * in_.q.element_size());
    double products = 0;
    double tensors = 0;
    if (pass != "backward") {
      products += 2;
      tensors += 4;
    }
    if (pass == "backward" || pass == "forward_backward") {
      products += 5;
      tensors += 8;
    }
    return {{"flops", "", products * product}, {"bytes", "", tensors * tensor}};
  }

  const AttentionInputs& inputs() const { return in_; }
  const at::Tensor& dout() const { return dout_; }

 private:
  void forward() { out_ = attention_(in_); }

  void backward() {
    if (!out_.requires_grad()) throw Unsupported("this attention has no backward");
    torch::autograd::backward({out_}, {dout_});
  }

  std::function<at::Tensor(const AttentionInputs&)> attention_;
  Shape shape_;
  AttentionInputs in_;
  at::Tensor dout_;
  at::Tensor out_;
};

// A program after one call of a pass, launched as the case launches it.
struct Launched {
  std::unique_ptr<ProgramBoundary> owner;
  const AttentionProgram* program = nullptr;
  std::vector<NamedTensor> outputs;
};

Launched launch(const CaseContext& context, const std::string& pass, const at::Tensor& rows) {
  auto made = std::make_unique<AttentionProgram>(context, rows);
  AttentionProgram* program = made.get();
  Launched launched{std::make_unique<detail::ProgramGuard>(std::move(made)), program, {}};
  if (context.compile == nullptr) {
    program->before(pass);
    program->run(pass);
    launched.outputs = program->outputs(pass);
    return launched;
  }
  GuardedStep step;
  throw_unless_ok(context.compile->prepare(*launched.owner, pass, context, step));
  throw_unless_ok(step.before());
  throw_unless_ok(step.run());
  // Copies: a captured step's memory goes back with the step.
  for (const auto& output : program->outputs(pass)) {
    launched.outputs.push_back({output.name, output.tensor.clone()});
  }
  return launched;
}

class AttentionWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("batch", 8, 1, 65536, "Sequences."),
        integer_parameter("heads", 1, 1, 1024, "Heads."),
        integer_parameter("seq_len", 1024, 1, 1 << 24, "Queries, and keys as many."),
        integer_parameter("d_head", 64, 1, 1024, "Size of a head."),
        boolean_parameter("causal", true, "Whether a query sees only keys up to its own."),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"inference", "forward", "backward", "forward_backward"};
    info.default_passes = {"forward", "backward", "forward_backward"};
    info.uses = {"attention", "precision", "compile"};
    info.metrics = {
        {"flops", "FLOP", Direction::neither,
         "Operations of the matrix products over the pairs the mask leaves, a multiply-add counted "
         "as two.",
         "forward: 4 * pairs * d_head; backward: 10 * pairs * d_head; pairs = batch * heads * "
         "seq_len * (seq_len + 1) / 2 when causal, batch * heads * seq_len^2 when not"},
        {"bytes", "byte", Direction::neither,
         "Size of the tensors that must be read or written, each counted once.",
         "forward: 4 tensors; backward: 8"},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  // q, k, v and the output's gradient, the output, and the three gradients; the attention adds its
  // own.
  static std::string memory_estimate() {
    return "batch * heads * seq_len * d_head * element_size * (5 + 3 * runs_backward) + "
           "attention_memory";
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<AttentionProgram>(context);
  }

  // The whole result up to 4096 queries, above that 64 seeded ones a head: then the output's
  // gradient is 0 elsewhere, so that those queries alone give the gradients of all keys.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto shape = shape_of(context);
    const auto rows = model::rows_to_check(shape.seq_len, context.seed);
    const model::PoisonedMemory poisoned(
        context.device, 8 * shape.elements() * static_cast<std::int64_t>(sizeof(float)));

    auto launched = launch(context, pass, rows);
    const auto device_rows = rows.to(context.device);
    const auto at_rows = [&](const at::Tensor& x) { return x.index_select(2, device_rows); };
    launched.outputs.at(0).tensor = at_rows(launched.outputs[0].tensor);

    const bool backward = pass == "backward" || pass == "forward_backward";
    const auto& dout = launched.program->dout();
    const auto reference = model::attention_reference(launched.program->inputs(), rows,
                                                      backward ? at_rows(dout) : at::Tensor());
    std::vector<NamedTensor> references = {{"out", reference.out}};
    if (backward) {
      auto dq = at::zeros_like(dout, at::TensorOptions().dtype(at::kDouble));
      references.push_back({"grad.q", dq.index_copy_(2, device_rows, reference.dq)});
      references.push_back({"grad.k", reference.dk});
      references.push_back({"grad.v", reference.dv});
    }
    Verification verification;
    model::compare_all(verification, launched.outputs, references,
                       model::tolerance(context.precision), /*gradient_allowance=*/2);
    return verification;
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::AttentionWorkload, "attention", "One call of an attention on random inputs.")
