#include "toy_program.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <assay/communication.h>
#include <assay/reference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "model/autocast.h"
#include "model/random.h"
#include "training/replicas.h"

namespace assay::toy_mlp {

namespace {

constexpr std::int64_t widest_in_fp64 = 4096;

constexpr std::array passes = {"forward", "backward", "forward_backward", "train_step"};

// Ranks share parameters, but not their examples.
std::uint64_t data_seed(const CaseContext& context) {
  return context.seed + 1 + static_cast<std::uint64_t>(context.group.rank);
}

}  // namespace

ToyProgram::ToyProgram(const CaseContext& context, const Shape& shape, bool draws)
    : context_(context),
      trace_(context.trace),
      ops_(context.ops),
      precision_(context.precision),
      shape_(shape),
      x_(at::randn({shape.batch, features}, model::seeded_generator(at::kCPU, data_seed(context)),
                   at::TensorOptions(at::kFloat))
             .to(context.device, context.precision.parameters)),
      targets_(model::random_tokens({shape.batch}, classes, context.device, data_seed(context))),
      model_(make_model(context, shape, draws)),
      step_(model_, context) {
  if (draws) watch_.emplace(step_);
}

// Drawn in fp32 on the CPU, so that every precision and device has the same ones.
TrainedModel ToyProgram::make_model(const CaseContext& context, const Shape& shape, bool draws) {
  const auto generator = model::seeded_generator(at::kCPU, context.seed);
  const PrecisionPolicy& policy = context.precision;
  TrainedModel model;
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    at::Tensor weight;
    if (draws) {
      weight = (at::randn({rows, columns}, generator, at::TensorOptions(at::kFloat)) /
                std::sqrt(static_cast<double>(columns)))
                   .to(context.device, policy.parameters);
    } else {
      weight =
          at::empty({rows, columns}, at::TensorOptions(policy.parameters).device(context.device));
    }
    weight.requires_grad_();
    model.blocks.push_back({name, {model.parameters.size()}});
    model.parameters.push_back(
        {std::string(name) + ".weight", weight, policy.autocast.value_or(policy.parameters)});
  };
  add("fc1", shape.width, features);
  add("fc2", shape.width, shape.width);
  add("fc3", classes, shape.width);
  return model;
}

void ToyProgram::before(const std::string& pass) {
  loss_ = at::Tensor();
  step_.clear();
  if (pass == "backward") forward();
  if (pass == "train_step") step_.make_moments();
  step_.forget_sent();
}

void ToyProgram::run(const std::string& pass) {
  if (std::ranges::count(passes, pass) == 0) {
    throw std::invalid_argument("toy_mlp has no pass '" + pass + "'");
  }
  if (pass != "backward") {
    const TraceScope phase = trace_.phase("forward");
    forward();
  }
  if (pass != "forward") step_.backward(loss_);
  if (pass == "train_step") step_.optimize(ops_);
}

void ToyProgram::forward() {
  const model::Autocast autocast(x_.device(), precision_.autocast);
  at::Tensor x = x_;
  const int last = static_cast<int>(model_.blocks.size()) - 1;
  for (int block = 0; block <= last; ++block) {
    if (block == 0) {
      step_.hooks().enter(block, {});
    } else {
      step_.hooks().enter(block, {&x});
    }
    x = at::linear(x, model_.parameters[static_cast<std::size_t>(block)].tensor);
    if (block < last) x = at::relu(x);
    step_.hooks().leave(block, {&x});
  }
  loss_ = at::cross_entropy_loss(x, targets_);
}

std::vector<NamedTensor> ToyProgram::outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = {{"loss", loss_.detach()}};
  for (NamedTensor& gradient : step_.gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

std::vector<NamedTensor> ToyProgram::whole_outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = {{"loss", loss_.detach()}};
  for (NamedTensor& gradient : step_.whole_gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

std::vector<ProgramInput> ToyProgram::inputs(const std::string& pass) {
  const bool of_before = pass == "backward";
  return {{.name = "x", .tensor = x_, .of_before = of_before},
          {.name = "targets", .tensor = targets_, .of_before = of_before, .below = classes}};
}

double ToyProgram::parameters() const {
  double parameters = 0;
  for (const ModelParameter& parameter : model_.parameters) {
    parameters += static_cast<double>(parameter.tensor.numel());
  }
  return parameters;
}

void ToyProgram::restart_from(const std::vector<NamedTensor>& parameters) {
  step_.restart_from(parameters);
  watch_.reset();
}

void ToyProgram::expect_look(const std::string& pass) {
  start_.drop();
  if (pass != "train_step") return;
  start_.keep(context_.group, x_.device(), step_, parameters());
}

std::vector<NamedTensor> ToyProgram::seen_outputs(const std::string& pass) const {
  std::vector<NamedTensor> outputs = {{"loss", loss_.detach()}};
  for (NamedTensor& gradient : step_.seen_gradients(/*optimized=*/pass == "train_step")) {
    outputs.push_back(std::move(gradient));
  }
  return outputs;
}

// What is gathered and, on a host, where a process that takes more is stopped, the reference's
// parameters and gradients and what its layers keep.
double ToyProgram::look_bytes() const {
  const double gathered = 3 * static_cast<double>(step_.gathering_bytes());
  if (!x_.device().is_cpu()) return gathered;
  const double kept = 6 * static_cast<double>(shape_.batch * shape_.width);
  return gathered + static_cast<double>(sizeof(double)) * (3 * parameters() + kept);
}

std::vector<NamedTensor> ToyProgram::reference_outputs(const std::vector<NamedTensor>& parameters,
                                                       const std::string& pass) const {
  CaseContext plain;
  plain.device = context_.device;
  plain.parameters = context_.parameters;
  plain.ops = reference::operations(/*norm_has_bias=*/false);
  plain.precision.parameters = shape_.width > widest_in_fp64 ? at::kFloat : at::kDouble;
  ToyProgram reference(plain, shape_, /*draws=*/false);
  reference.restart_from(parameters);
  reference.x_.copy_(x_);
  reference.targets_.copy_(targets_);
  const std::string same = pass == "forward" ? pass : "forward_backward";
  reference.before(same);
  reference.run(same);
  return reference.outputs(same);
}

Verification ToyProgram::look(const std::string& pass, const Look& look) {
  constexpr double allowance = 10;  // as in verification
  const auto start = start_.take();
  const bool trains = pass == "train_step";
  if (look.device != x_.device()) {
    return training::left_out("the GPU lacks the memory for a reference");
  }
  if (trains && !start) return training::left_out(start_.why_none());
  const auto on_all_ranks = [&](const std::function<void()>& work) {
    return training::with_memory_on_all_ranks(context_.group, x_.device(), work);
  };
  std::vector<NamedTensor> values, right, began;
  const auto see = [&] {
    began = trains ? start->parameters : step_.seen_parameters();
    values = seen_outputs(pass);
  };
  const Status seen = on_all_ranks([&] {
    training::need_memory(x_.device(), look_bytes());
    if (!step_.gathers()) see();
  });
  if (!seen.ok()) return training::left_out(seen.reason);
  if (step_.gathers()) see();
  bool skipped = false;
  const Status made = on_all_ranks([&] {
    right = reference_outputs(began, pass);
    skipped = precision_.loss_scaling && training::overflown(values);
  });
  if (!made.ok()) return training::left_out(made.reason);
  const bool travels = context_.communication && context_.group.size > 1 &&
                       context_.communication.traits().synchronizes;
  if (travels) training::average_gradients(context_.group, right);
  if (skipped) right.resize(1);  // the loss
  Verification found;
  reference::compare_all(found, values, right, reference::tolerance(precision_), allowance);
  if (skipped && found.error <= found.tolerance) {
    found = training::left_out("gradients have overflown, and the step is skipped");
  }
  if (watch_) {
    const Status watched = on_all_ranks([&] { watch_->compare(step_, found); });
    if (!watched.ok()) return training::left_out(watched.reason);
  }
  if (!trains || !training::all_ranks(context_.group, x_.device(), found.checked)) return found;
  start->movement.compare(step_.state(), found);
  if (travels) training::compare_replicas(context_.group, x_.device(), step_.replicas(), found);
  return found;
}

std::vector<Count> ToyProgram::counts(const std::string& pass) {
  const double parameters = this->parameters();
  // The first matrix needs no gradient of its input.
  const double forward = 2 * static_cast<double>(shape_.batch) * parameters;
  const double backward =
      2 * forward - 2 * static_cast<double>(shape_.batch * shape_.width * features);
  std::vector<Count> counts = {
      {"parameters", "", parameters},
      {"flops", "", (pass == "backward" ? 0 : forward) + (pass == "forward" ? 0 : backward)}};
  for (Count& sent : step_.sent()) counts.push_back(std::move(sent));
  return counts;
}

void ToyProgram::record(const std::string&, Recorder& recorder) {
  if (const auto communication = step_.communication()) communication.record(recorder);
}

}  // namespace assay::toy_mlp
