#pragma once

#include <assay/compile.h>
#include <assay/workload.h>

#include <functional>

namespace assay::model {

// One call of a single operation, forward and backward, for workloads of one operation. Passes:
// "inference", "forward", "backward", "forward_backward".
class OperationProgram : public Program {
 public:
  // Appends the results of one call, in the order of their names.
  using Forward = std::function<void(std::vector<at::Tensor>& results)>;

  struct Result {
    std::string name;     // "out"
    at::Tensor gradient;  // of this result, in a backward
  };

  // leaves: inputs that get gradients.
  OperationProgram(std::string operation, Forward forward, std::vector<NamedTensor> leaves,
                   std::vector<Result> results);

  // Drops the last output and gradients; for "backward" also runs the forward.
  void before(const std::string& pass) override;
  // Throws Unsupported for a backward of an output that has no gradient.
  void run(const std::string& pass) override;
  // The results, and "grad.<leaf>" after a backward.
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  // The leaves and, with a backward, the results' gradients as "d<result>".
  std::vector<ProgramInput> inputs(const std::string& pass) override;
  bool writes_outputs_anew(const std::string&) override { return true; }

 private:
  void forward();
  void backward();

  std::string operation_;
  Forward forward_;
  std::vector<NamedTensor> leaves_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> upstream_;   // of the results
  std::vector<at::Tensor> results_;    // of the last call
  std::vector<at::Tensor> gradients_;  // of the leaves, likewise
};

// Throws PluginFailure with outcome `wrong` for a tensor of a class of its own: such a tensor may
// be computed when somebody reads it, unheard by a clock.
void require_plain(const NamedTensor& value);

bool runs_forward(const std::string& pass);
bool runs_backward(const std::string& pass);

// Prepares a pass of the program with the case's compile variant; `before` is never empty. The
// program must outlive the step. Throws PluginFailure.
Step launched(const CaseContext& context, ProgramBoundary& program, const std::string& pass);

}  // namespace assay::model
