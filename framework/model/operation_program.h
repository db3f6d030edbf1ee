#pragma once

#include <assay/compile.h>
#include <assay/workload.h>

#include <functional>

namespace assay::model {

// One call of a single operation, forward and backward: what workloads of one operation measure.
// Passes: "inference", "forward", "backward", "forward_backward".
class OperationProgram : public Program {
 public:
  // leaves: the inputs that get gradients; dout: the gradient of what `forward` returns.
  OperationProgram(std::string operation, std::function<at::Tensor()> forward,
                   std::vector<NamedTensor> leaves, at::Tensor dout);

  // Drops the last call's output and gradients; for "backward" runs the forward.
  void before(const std::string& pass) override;
  // A backward of what is not differentiable throws Unsupported.
  void run(const std::string& pass) override;
  // "out", and "grad.<leaf>" after a backward.
  std::vector<NamedTensor> outputs(const std::string& pass) override;

  const at::Tensor& dout() const { return dout_; }

 private:
  void backward();

  std::string operation_;
  std::function<at::Tensor()> forward_;
  std::vector<NamedTensor> leaves_;
  at::Tensor dout_;
  at::Tensor out_;
};

bool runs_forward(const std::string& pass);
bool runs_backward(const std::string& pass);

// A pass of the program as the case launches it, ready to be called; `before` is never empty. The
// program outlives it. Throws PluginFailure, as its calls do.
Step launched(const CaseContext& context, ProgramBoundary& program, const std::string& pass);

// Calls a pass of the program once, launched as the case launches it, and returns copies of what it
// left. Throws PluginFailure.
std::vector<NamedTensor> call_once(const CaseContext& context, Program& program,
                                   const std::string& pass);

}  // namespace assay::model
