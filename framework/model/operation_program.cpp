#include "model/operation_program.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <stdexcept>

namespace assay::model {

OperationProgram::OperationProgram(std::string operation, std::function<at::Tensor()> forward,
                                   std::vector<NamedTensor> leaves, at::Tensor dout)
    : operation_(std::move(operation)),
      forward_(std::move(forward)),
      leaves_(std::move(leaves)),
      dout_(std::move(dout)) {}

void OperationProgram::before(const std::string& pass) {
  out_ = at::Tensor();
  for (auto& leaf : leaves_) leaf.tensor.mutable_grad() = at::Tensor();
  if (pass == "backward") out_ = forward_();
}

void OperationProgram::run(const std::string& pass) {
  if (pass == "inference") {
    const at::NoGradGuard no_grad;
    out_ = forward_();
  } else if (pass == "forward") {
    out_ = forward_();
  } else if (pass == "backward") {
    backward();
  } else if (pass == "forward_backward") {
    out_ = forward_();
    backward();
  } else {
    throw std::invalid_argument(operation_ + " has no pass '" + pass + "'");
  }
}

void OperationProgram::backward() {
  if (!out_.requires_grad()) throw Unsupported("this " + operation_ + " has no backward");
  torch::autograd::backward({out_}, {dout_});
}

std::vector<NamedTensor> OperationProgram::outputs(const std::string&) {
  std::vector<NamedTensor> outputs = {{"out", out_.detach()}};
  for (const auto& [name, leaf] : leaves_) {
    if (leaf.grad().defined()) outputs.push_back({"grad." + name, leaf.grad()});
  }
  return outputs;
}

bool runs_forward(const std::string& pass) { return pass != "backward"; }

bool runs_backward(const std::string& pass) {
  return pass == "backward" || pass == "forward_backward";
}

Step launched(const CaseContext& context, ProgramBoundary& program, const std::string& pass) {
  if (context.compile == nullptr) {
    const ProgramHandle handle = program;
    return {[handle, pass] { handle.before(pass); }, [handle, pass] { handle.run(pass); }};
  }
  GuardedStep step;
  throw_unless_ok(context.compile->prepare(program, pass, context, step));
  return {[before = std::move(step.before)] { throw_unless_ok(before()); },
          [run = std::move(step.run)] { throw_unless_ok(run()); }};
}

std::vector<NamedTensor> call_once(const CaseContext& context, Program& program,
                                   const std::string& pass) {
  detail::ProgramGuard guard(std::shared_ptr<Program>(std::shared_ptr<Program>(), &program));
  const Step step = launched(context, guard, pass);
  step.before();
  step.run();
  std::vector<NamedTensor> outputs = program.outputs(pass);
  // The step may own these tensors' memory, as a captured one does.
  for (auto& output : outputs) output.tensor = output.tensor.clone();
  return outputs;
}

}  // namespace assay::model
