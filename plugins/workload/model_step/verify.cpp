#include "verify.h"

#include <assay/communication.h>
#include <assay/compile.h>
#include <assay/reference.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "exchanged_model.h"
#include "model/operation_program.h"
#include "model/safetensors.h"
#include "training/mean_of_ranks.h"

namespace assay::model_step {

namespace {

constexpr std::int64_t layers = 2;
constexpr std::int64_t largest_vocabulary = 1000;
constexpr std::int64_t largest_batch = 2;
constexpr int optimizer_steps = 5;
constexpr std::int64_t poisoned_bytes = std::int64_t{256} << 20;
// Two tokens overflow fp16 at the usual 65536, which would skip the steps.
constexpr double loss_scale = 1024;
// Gradients of projections into a softmax are small differences of large numbers.
constexpr double gradient_allowance = 10;

model::ModelConfig reduced(model::ModelConfig config, bool on_cpu) {
  const std::int64_t widest = on_cpu ? 256 : 512;
  const auto d_head = config.d_head();
  const auto group = config.heads / config.used_kv_heads();
  // At least two heads where they share k and v.
  const auto heads = std::clamp<std::int64_t>(widest / d_head, group > 1 ? 2 : 1, config.heads);
  config.d_ff = std::max<std::int64_t>(8, config.d_ff * heads / config.heads / 8 * 8);
  config.d_model = heads * d_head;
  config.heads = heads;
  // The largest number that divides heads and leaves groups as large as the case's.
  config.kv_heads = std::max<std::int64_t>(1, heads / group);
  while (heads % config.kv_heads != 0) --config.kv_heads;
  config.layers = std::min(config.layers, layers);
  config.vocab_size = std::min(config.vocab_size, largest_vocabulary);
  return config;
}

class Subject {
 public:
  Subject(const CaseContext& context, const model::ModelConfig& config, const Shape& shape,
          const std::string& pass)
      : pass_(pass) {
    auto program = std::make_unique<ModelProgram>(context, config, shape, /*keep_logits=*/true);
    program_ = program.get();
    initial_ = program_->whole_parameters();
    boundary_ = std::make_unique<detail::ProgramGuard>(std::move(program));
    step_ = model::launched(context, *boundary_, pass_);
    // Preparing may already have trained.
    program_->restart_from(initial_);
  }

  std::vector<NamedTensor> call() {
    step_.before();
    step_.run();
    return program_->whole_outputs(pass_);
  }

  const std::vector<NamedTensor>& initial() const { return initial_; }

 private:
  std::string pass_;
  ModelProgram* program_;
  std::vector<NamedTensor> initial_;
  std::unique_ptr<ProgramBoundary> boundary_;
  Step step_;  // destroyed first: it refers to the program
};

std::vector<NamedTensor> call(ModelProgram& program, const std::string& pass) {
  program.before(pass);
  program.run(pass);
  return program.outputs(pass);
}

at::Tensor loss_of(const std::vector<NamedTensor>& outputs) {
  for (const auto& output : outputs) {
    if (output.name == "loss") return output.tensor.to(at::kDouble).clone();
  }
  throw std::logic_error("a train step left no loss");
}

// Drop of the loss since the first step; the loss itself hardly shows a wrong optimizer.
class LossFall {
 public:
  at::Tensor since_first(const std::vector<NamedTensor>& outputs) {
    const auto loss = loss_of(outputs);
    if (!first_.defined()) first_ = loss;
    return first_ - loss;
  }

 private:
  at::Tensor first_;
};

// Makes one call of both, or five of a training pass, and compares the results.
Verification compare_calls(const std::function<std::vector<NamedTensor>(int step)>& subject,
                           const std::function<std::vector<NamedTensor>()>& reference,
                           const std::string& pass, double tolerance) {
  Verification verification;
  LossFall fall, reference_fall;
  const bool trains = pass == "train_step";
  for (int step = 0; step < (trains ? optimizer_steps : 1); ++step) {
    const auto values = subject(step);
    const auto references = reference();
    if (step == 0) {
      reference::compare_all(verification, values, references, tolerance, gradient_allowance);
    }
    if (!trains) continue;
    const auto fallen = fall.since_first(values);
    const auto reference_fallen = reference_fall.since_first(references);
    if (step > 0) {
      reference::compare(verification, "loss after step " + std::to_string(step), fallen,
                         reference_fallen, gradient_allowance * tolerance);
    }
  }
  return verification;
}

}  // namespace

bool gradients_travel(const CaseContext& context) {
  return context.communication && context.group.size > 1 &&
         context.communication.traits().synchronizes;
}

CaseContext reference_context(const CaseContext& context, bool norm_has_bias) {
  CaseContext reference;
  reference.group = context.group;
  reference.mesh = context.mesh;
  reference.device = context.device;
  reference.parameters = context.parameters;
  reference.seed = context.seed;
  reference.ops = reference::operations(norm_has_bias);
  reference.precision.parameters = at::kDouble;
  return reference;
}

Verification verify_model(const CaseContext& case_context, const model::ModelConfig& config,
                          const Shape& shape, const std::string& pass) {
  CaseContext context = case_context;
  if (!context.communication) context.group = {};
  context.precision.initial_loss_scale = loss_scale;
  const bool on_cpu = context.device.is_cpu();
  const auto small = reduced(config, on_cpu);
  const Shape small_shape = {std::min(shape.batch, largest_batch),
                             std::min<std::int64_t>(shape.seq_len, on_cpu ? 128 : 256)};

  const reference::PoisonedMemory poisoned(context.device, poisoned_bytes);
  Subject subject(context, small, small_shape, pass);
  CaseContext plain = reference_context(context, context.ops.norm_has_bias);
  detail::CommunicationGuard mean(std::make_unique<training::MeanOfRanks>());
  if (gradients_travel(context)) plain.communication = &mean;
  ModelProgram reference(plain, small, small_shape, /*keep_logits=*/true);
  reference.restart_from(subject.initial());
  return compare_calls([&](int) { return subject.call(); }, [&] { return call(reference, pass); },
                       pass, reference::tolerance(context.precision));
}

Verification verify_exchanged_model(const CaseContext& context, const model::ModelConfig& config,
                                    const std::string& pass, const Exchange& exchange) {
  const auto model = exchanged_model(config, context.ops, exchange.inputs);
  ModelProgram reference(reference_context(context, model.config.norm_has_bias), model.config,
                         model.shape);
  reference.restart_from(model.parameters);
  reference.use_batch(model.tokens, model.targets);

  auto values = exchange.outputs;
  at::Tensor losses;
  if (pass == "train_step") {
    losses = reference::exchanged(values, "losses", {optimizer_steps}, at::kFloat);
    values.push_back({"loss", losses[0]});
  }
  const auto call_reference = [&] {
    std::vector<NamedTensor> outputs = call(reference, pass);
    const bool wants_logits = pass == "inference";
    std::erase_if(outputs, [&](const auto& one) { return one.name == "logits" && !wants_logits; });
    return outputs;
  };
  for (const auto& [name, tensor] : call_reference()) require(values, name, tensor.sizes());
  reference.restart_from(model.parameters);

  const auto exchanged = [&](int step) {
    return step == 0 ? values : std::vector<NamedTensor>{{"loss", losses[step]}};
  };
  return compare_calls(exchanged, call_reference, pass, reference::tolerance(context.precision));
}

}  // namespace assay::model_step
