#include "verify.h"

#include <assay/compile.h>

#include <algorithm>

#include "model/poisoned_memory.h"
#include "model/reference.h"

namespace assay::model_step {

namespace {

constexpr std::int64_t layers = 2;
constexpr std::int64_t largest_vocabulary = 1000;
constexpr std::int64_t largest_batch = 2;
constexpr int optimizer_steps = 5;
constexpr std::int64_t poisoned_bytes = std::int64_t{256} << 20;
// Two tokens already overflow fp16 at the usual 65536, and the steps must not be left out here.
constexpr double loss_scale = 1024;
// Gradients of projections into a softmax are small differences of large numbers.
constexpr double gradient_allowance = 10;

model::ModelConfig reduced(model::ModelConfig config, bool on_cpu) {
  const std::int64_t widest = on_cpu ? 256 : 512;
  const auto d_head = config.d_head();
  const auto heads = std::clamp<std::int64_t>(widest / d_head, 1, config.heads);
  config.d_ff = std::max<std::int64_t>(8, config.d_ff * heads / config.heads / 8 * 8);
  config.d_model = heads * d_head;
  config.heads = heads;
  config.layers = std::min(config.layers, layers);
  config.vocab_size = std::min(config.vocab_size, largest_vocabulary);
  return config;
}

CaseContext reference_context(const CaseContext& context) {
  CaseContext reference;
  reference.device = context.device;
  reference.seed = context.seed;
  reference.ops = model::reference_ops(context.ops.norm_has_bias);
  reference.precision.parameters = at::kDouble;
  return reference;
}

std::vector<NamedTensor> copies(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copied;
  for (const auto& [name, tensor] : tensors) copied.push_back({name, tensor.detach().clone()});
  return copied;
}

// The program as the case launches it.
class Subject {
 public:
  Subject(const CaseContext& context, const model::ModelConfig& config, const Shape& shape,
          const std::string& pass)
      : pass_(pass) {
    auto program = std::make_unique<ModelProgram>(context, config, shape, /*keep_logits=*/true);
    program_ = program.get();
    initial_ = copies(program_->parameters());
    boundary_ = std::make_unique<detail::ProgramGuard>(std::move(program));
    if (context.compile != nullptr) {
      throw_unless_ok(context.compile->prepare(*boundary_, pass_, context, step_));
    } else {
      step_.before = [this] { return boundary_->before(pass_); };
      step_.run = [this] { return boundary_->run(pass_); };
    }
    // Preparing may have trained already.
    program_->restart_from(initial_);
  }

  std::vector<NamedTensor> call() {
    throw_unless_ok(step_.before());
    throw_unless_ok(step_.run());
    return program_->outputs(pass_);
  }

  const std::vector<NamedTensor>& initial() const { return initial_; }

 private:
  std::string pass_;
  ModelProgram* program_;
  std::vector<NamedTensor> initial_;
  std::unique_ptr<ProgramBoundary> boundary_;
  GuardedStep step_;  // destroyed first: it refers to the program
};

void compare_outputs(Verification& verification, const std::vector<NamedTensor>& values,
                     const std::vector<NamedTensor>& references, double tolerance) {
  TORCH_CHECK(values.size() == references.size(), "the step left ", values.size(),
              " outputs, the reference ", references.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool gradient = values[i].name.starts_with("grad.");
    model::compare(verification, values[i].name, values[i].tensor, references[i].tensor,
                   gradient ? gradient_allowance * tolerance : tolerance);
  }
}

std::vector<NamedTensor> only_loss(const std::vector<NamedTensor>& outputs, int step) {
  for (const auto& output : outputs) {
    if (output.name == "loss") return {{"loss of step " + std::to_string(step), output.tensor}};
  }
  return {};
}

}  // namespace

Verification verify_model(const CaseContext& case_context, const model::ModelConfig& config,
                          const Shape& shape, const std::string& pass) {
  CaseContext context = case_context;
  context.communication = nullptr;
  context.group = {};
  context.precision.initial_loss_scale = loss_scale;
  const bool on_cpu = context.device.is_cpu();
  const auto small = reduced(config, on_cpu);
  const Shape small_shape = {std::min(shape.batch, largest_batch),
                             std::min<std::int64_t>(shape.seq_len, on_cpu ? 128 : 256)};
  const double tolerance = model::tolerance(context.precision);

  const model::PoisonedMemory poisoned(context.device, poisoned_bytes);
  Subject subject(context, small, small_shape, pass);
  ModelProgram reference(reference_context(context), small, small_shape, /*keep_logits=*/true);
  reference.restart_from(subject.initial());

  Verification verification;
  const int calls = pass == "train_step" ? optimizer_steps : 1;
  for (int step = 0; step < calls; ++step) {
    const auto values = subject.call();
    reference.before(pass);
    reference.run(pass);
    const auto references = reference.outputs(pass);
    if (pass == "train_step") {
      compare_outputs(verification, only_loss(values, step), only_loss(references, step),
                      tolerance);
    } else {
      compare_outputs(verification, values, references, tolerance);
    }
  }
  return verification;
}

}  // namespace assay::model_step
