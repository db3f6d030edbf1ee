#pragma once

#include <assay/compile.h>
#include <assay/workload.h>

#include <functional>

namespace assay::model {

// One call of a single operation, forward and backward, for workloads of one operation. Passes:
// "inference", "forward", "backward", "forward_backward".
class OperationProgram : public Program {
 public:
  // leaves: inputs that get gradients; dout: gradient of the output of `forward`.
  OperationProgram(std::string operation, std::function<at::Tensor()> forward,
                   std::vector<NamedTensor> leaves, at::Tensor dout);

  // Drops the last output and gradients; for "backward" also runs the forward.
  void before(const std::string& pass) override;
  // Throws Unsupported for a backward of an output that has no gradient.
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

// Prepares a pass of the program with the case's compile variant; `before` is never empty. The
// program must outlive the step. Throws PluginFailure.
Step launched(const CaseContext& context, ProgramBoundary& program, const std::string& pass);

// Calls a pass once, prepared as above, and returns copies of its outputs. Throws PluginFailure.
std::vector<NamedTensor> call_once(const CaseContext& context, Program& program,
                                   const std::string& pass);

}  // namespace assay::model
