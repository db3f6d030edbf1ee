#include "model/operation_program.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>

#include <stdexcept>
#include <typeinfo>

#include "model/autograd_thread.h"

namespace assay::model {

namespace {

// Of at::Tensor's own class, and so is its memory.
bool is_plain(const at::Tensor& value) {
  const c10::TensorImpl& tensor = *value.unsafeGetTensorImpl();
  if (typeid(tensor) != typeid(c10::TensorImpl)) return false;
  if (!tensor.has_storage()) return true;
  const c10::StorageImpl& memory = *tensor.unsafe_storage().unsafeGetStorageImpl();
  return typeid(memory) == typeid(c10::StorageImpl);
}

}  // namespace

OperationProgram::OperationProgram(std::string operation, Forward forward,
                                   std::vector<NamedTensor> leaves, std::vector<Result> results)
    : operation_(std::move(operation)), forward_(std::move(forward)), leaves_(std::move(leaves)) {
  for (auto& result : results) {
    names_.push_back(std::move(result.name));
    upstream_.push_back(std::move(result.gradient));
  }
  results_.reserve(results.size());
}

void OperationProgram::before(const std::string& pass) {
  results_.clear();
  gradients_.clear();
  if (pass == "backward") forward_(results_);
}

void OperationProgram::run(const std::string& pass) {
  if (pass == "inference") {
    const at::NoGradGuard no_grad;
    forward();
  } else if (pass == "forward") {
    forward();
  } else if (pass == "backward") {
    backward();
  } else if (pass == "forward_backward") {
    forward();
    backward();
  } else {
    throw std::invalid_argument(operation_ + " has no pass '" + pass + "'");
  }
}

void OperationProgram::forward() {
  results_.clear();
  forward_(results_);
}

void OperationProgram::backward() {
  for (const auto& result : results_) {
    if (!result.requires_grad()) throw Unsupported("this " + operation_ + " has no backward");
  }
  std::vector<at::Tensor> leaves;
  for (const auto& leaf : leaves_) leaves.push_back(leaf.tensor);
  const AutogradOnThisThread on_this_thread;
  // Not kept in the leaves, which would copy a gradient that two of them share. They would also
  // have it lie as they do.
  gradients_ = torch::autograd::grad(results_, leaves, upstream_, /*retain_graph=*/std::nullopt,
                                     /*create_graph=*/false, /*allow_unused=*/true);
  namespace layout = torch::autograd::utils;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    at::Tensor& gradient = gradients_[i];
    // outputs() refuses others, which a copy would make plain.
    if (!gradient.defined() || !is_plain(gradient)) continue;
    if (layout::obeys_layout_contract(gradient, leaves[i])) continue;
    gradient = layout::clone_obey_contract(gradient, leaves[i]);
  }
}

std::vector<NamedTensor> OperationProgram::outputs(const std::string&) {
  // A call that begins within another adds its results to the other's.
  if (results_.size() > names_.size()) {
    throw PluginFailure({Outcome::wrong, fmt::format("the call left {} results, not {}",
                                                     results_.size(), names_.size())});
  }
  std::vector<NamedTensor> outputs;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    require_plain({names_[i], results_[i]});  // detach() would make it one
    outputs.push_back({names_[i], results_[i].detach()});
  }
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const NamedTensor gradient = {"grad." + leaves_[i].name, gradients_[i]};
    require_plain(gradient);
    if (gradient.tensor.defined()) outputs.push_back(gradient);
  }
  return outputs;
}

std::vector<ProgramInput> OperationProgram::inputs(const std::string& pass) {
  std::vector<ProgramInput> inputs;
  for (const auto& [name, leaf] : leaves_) {
    inputs.push_back({.name = name, .tensor = leaf, .of_before = pass == "backward"});
  }
  if (!runs_backward(pass)) return inputs;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    inputs.push_back({.name = "d" + names_[i], .tensor = upstream_[i]});
  }
  return inputs;
}

void require_plain(const NamedTensor& value) {
  if (!value.tensor.defined() || is_plain(value.tensor)) return;
  throw PluginFailure({Outcome::wrong, value.name + " is a tensor of a class of its own, which may "
                                                    "be computed when somebody reads it"});
}

bool runs_forward(const std::string& pass) { return pass != "backward"; }

bool runs_backward(const std::string& pass) {
  return pass == "backward" || pass == "forward_backward";
}

Step launched(const CaseContext& case_context, ProgramBoundary& program, const std::string& pass) {
  CaseContext context = case_context;
  context.seed = 0;  // what a program draws from it is no business of a compile variant
  if (context.compile == nullptr) {
    const ProgramHandle handle = program;
    return {[handle, pass] { handle.before(pass); }, [handle, pass] { handle.run(pass); }};
  }
  GuardedStep step;
  throw_unless_ok(context.compile->prepare(program, pass, context, step));
  return {[before = std::move(step.before)] { throw_unless_ok(before()); },
          [run = std::move(step.run)] { throw_unless_ok(run()); }};
}

}  // namespace assay::model
