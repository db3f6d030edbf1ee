#include "model_program.h"

#include <ATen/core/grad_mode.h>
#include <assay/memory.h>
#include <assay/range.h>
#include <assay/reference.h>

#include <optional>
#include <utility>

#include "model/autocast.h"
#include "model/random.h"
#include "textbook_model.h"
#include "training/replicas.h"
#include "training/trained_model.h"
#include "verify.h"

namespace assay::model_step {

namespace {

// Ranks share parameters, but not tokens and targets.
std::uint64_t data_seed(const CaseContext& context, std::uint64_t stream) {
  return context.seed + 2 * static_cast<std::uint64_t>(context.group.rank) + stream;
}

training::AdamWSettings optimizer_settings(const CaseContext& context) {
  training::AdamWSettings settings;
  settings.max_grad_norm = real_option(context.parameters, "max_grad_norm");
  return settings;
}

// Whether the case records memory: if so, from here on.
bool starts_recording_memory(const CaseContext& context) {
  const bool records = boolean_option(context.parameters, "record_memory");
  if (records) reset_peak_memory(context.device);
  return records;
}

}  // namespace

ModelProgram::ModelProgram(const CaseContext& context, const model::ModelConfig& config,
                           const Shape& shape, bool keep_logits, bool draws)
    : context_(context),
      predictions_(context, config,
                   {static_cast<double>(shape.batch), static_cast<double>(shape.seq_len)}),
      trace_(context.trace),
      ops_(context.ops),
      precision_(context.precision),
      device_(context.device),
      shape_(shape),
      keep_logits_(keep_logits),
      records_memory_(starts_recording_memory(context)),
      tokens_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                   data_seed(context, 0))),
      targets_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                    data_seed(context, 1))),
      model_(config, context.ops, device_, precision_.parameters,
             draws ? std::optional(context.seed) : std::nullopt),
      step_(training::trained_model(model_, precision_), context, optimizer_settings(context)) {
  if (records_memory_) building_peak_ = peak_memory(device_);
  model_.set_hooks(step_.hooks());
  set_checkpoints(static_cast<int>(integer_option(context.parameters, "checkpoint_every")));
  const auto compile = context.parameters.find("compile");
  if (records_memory_ && compile != context.parameters.end() &&
      to_text(compile->second) != "eager") {
    throw Unsupported("record_memory makes the optimizer's state anew: it needs compile: eager");
  }
  if (draws) watch_.emplace(step_);
}

void ModelProgram::set_checkpoints(int every) {
  if (step_.hooks() && every > 1) {
    throw Unsupported(
        "the communication variant acts around each block, and checkpoints of several blocks "
        "compute them again together: checkpoint_every may be 0 or 1");
  }
  model_.set_checkpoint_every(every);
}

void ModelProgram::before(const std::string& pass) {
  loss_ = at::Tensor();
  logits_ = at::Tensor();
  step_.clear();
  if (pass == "backward") forward();
  if (pass == "train_step") step_.make_moments();
  step_.forget_sent();
}

void ModelProgram::run(const std::string& pass) {
  if (pass == "inference") {
    const TraceScope phase = trace_.phase("forward");
    const Range range("forward");
    const at::NoGradGuard no_grad;
    const model::Autocast autocast(device_, precision_.autocast);
    logits_ = model_.forward(tokens_);
  } else if (pass == "forward") {
    const TraceScope phase = trace_.phase("forward");
    forward(/*keep_logits=*/true);
  } else if (pass == "backward") {
    step_.backward(loss_);
  } else if (pass == "forward_backward") {
    forward_backward();
  } else if (pass == "train_step") {
    forward_backward();
    step_.optimize(ops_);
  } else {
    throw std::invalid_argument("model_step has no pass '" + pass + "'");
  }
}

void ModelProgram::forward(bool keep_logits) {
  const Range range("forward");
  const model::Autocast autocast(device_, precision_.autocast);
  const at::Tensor logits = model_.forward(tokens_);
  if (keep_logits || keep_logits_) logits_ = logits.detach();
  loss_ = model_.loss(logits, targets_);
}

void ModelProgram::forward_backward() {
  {
    const TraceScope phase = trace_.phase("forward");
    forward();
  }
  step_.backward(loss_);
}

std::vector<NamedTensor> ModelProgram::results() const {
  std::vector<NamedTensor> results;
  if (logits_.defined()) results.push_back({"logits", logits_});
  if (loss_.defined()) results.push_back({"loss", loss_.detach()});
  return results;
}

std::vector<NamedTensor> ModelProgram::outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = results();
  for (NamedTensor& gradient : step_.gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

std::vector<NamedTensor> ModelProgram::whole_outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = results();
  for (NamedTensor& gradient : step_.whole_gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

std::vector<ProgramInput> ModelProgram::inputs(const std::string& pass) {
  const bool of_before = pass == "backward";
  const std::int64_t below = model_.config().vocab_size;
  return {{.name = "tokens", .tensor = tokens_, .of_before = of_before, .below = below},
          {.name = "targets", .tensor = targets_, .of_before = of_before, .below = below}};
}

void ModelProgram::restart_from(const std::vector<NamedTensor>& parameters) {
  step_.restart_from(parameters);
  watch_.reset();
}

void ModelProgram::expect_look(const std::string& pass) {
  start_.drop();
  if (pass != "train_step") return;
  start_.keep(context_.group, device_, step_,
              static_cast<double>(model::count_parameters(model_.config())));
}

std::vector<NamedTensor> ModelProgram::seen_outputs(const std::string& pass) const {
  std::vector<NamedTensor> outputs = results();
  for (NamedTensor& gradient : step_.seen_gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

// What a look takes on the device: on a GPU it is enough to know that nothing lacks where ranks
// gather, on a host all of the reference counts, since a process that takes more is stopped.
double ModelProgram::look_bytes(const std::string& pass) const {
  const double scaled = precision_.loss_scaling ? 2 : 1;  // gradients once more
  const double gathered = (1 + scaled) * static_cast<double>(step_.gathering_bytes());
  return device_.is_cpu() ? gathered + reference_bytes(model_.config(), 1, shape_.seq_len, pass)
                          : gathered;
}

Verification ModelProgram::look(const std::string& pass, const Look& look) {
  const auto start = start_.take();
  const bool trains = pass == "train_step";
  // On the host the reference of a GPU's step would take minutes.
  if (look.device != device_) return training::left_out("the GPU lacks the memory for a reference");
  if (trains && !start) return training::left_out(start_.why_none());
  LookedAtStep step = {.context = context_,
                       .config = model_.config(),
                       .pass = pass,
                       .tokens = tokens_,
                       .targets = targets_,
                       .parameters = {},
                       .values = {},
                       .usual = usual_[pass],
                       .loss_scale = step_.state().loss_scale()};
  const auto see = [&] {
    step.parameters = trains ? start->parameters : step_.seen_parameters();
    step.values = seen_outputs(pass);
  };
  const Status seen = training::with_memory_on_all_ranks(context_.group, device_, [&] {
    training::need_memory(device_, look_bytes(pass));
    if (!step_.gathers()) see();
  });
  if (!seen.ok()) return training::left_out(seen.reason);
  if (step_.gathers()) see();
  Verification found = look_at_step(step, look.seed);
  if (watch_) {
    const Status watched = training::with_memory_on_all_ranks(
        context_.group, device_, [&] { watch_->compare(step_, found); });
    if (!watched.ok()) return training::left_out(watched.reason);
  }
  if (!trains || !training::all_ranks(context_.group, device_, found.checked)) return found;
  start->movement.compare(step_.state(), found);
  if (gradients_travel(context_)) {
    training::compare_replicas(context_.group, device_, step_.replicas(), found);
  }
  return found;
}

std::vector<Count> ModelProgram::counts(const std::string& pass) {
  const auto& config = model_.config();
  const double forwards = pass == "inference" || pass == "forward" ? 1 : pass == "backward" ? 2 : 3;
  std::vector<Count> counts = {
      {"parameters", "", static_cast<double>(model::count_parameters(config))},
      {"flops", "", forwards * model::forward_flops(config, shape_.batch, shape_.seq_len)}};
  for (Count& sent : step_.sent()) counts.push_back(std::move(sent));
  return counts;
}

void ModelProgram::record(const std::string& pass, Recorder& recorder) {
  predictions_.record(pass, recorder);
  // Between hooks parameters may lie elsewhere.
  if (predictions_.predicts() && !step_.hooks()) record_residual_stream(recorder);
  if (const auto communication = step_.communication()) communication.record(recorder);
  if (pass != "train_step") return;
  if (records_memory_) {
    loss_ = logits_ = at::Tensor();
    const auto loss = [this] {
      forward();
      return std::exchange(loss_, at::Tensor());
    };
    step_.record_memory(recorder, building_peak_, loss, ops_);
    watch_.emplace(step_);
  }
  if (!precision_.loss_scaling) return;
  recorder.sample("skipped_steps", "", static_cast<double>(step_.state().skipped_steps()));
  recorder.sample("loss_scale", "", step_.state().loss_scale());
}

// As the allocator was asked for it, outside of what is timed.
void ModelProgram::record_residual_stream(Recorder& recorder) const {
  const at::NoGradGuard no_grad;
  const at::Tensor residual = model_.embed(tokens_);
  recorder.sample("tensor_size", "residual_stream",
                  static_cast<double>(residual.storage().nbytes()));
}

void ModelProgram::use_batch(const at::Tensor& tokens, const at::Tensor& targets) {
  tokens_.copy_(tokens);
  targets_.copy_(targets);
}

}  // namespace assay::model_step
