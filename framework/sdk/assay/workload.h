#pragma once

#include <assay/communication.h>
#include <assay/ops.h>
#include <assay/precision.h>
#include <c10/core/Device.h>

namespace assay {

class CompileBoundary;

// What a workload is built from: the case, resolved.
struct CaseContext {
  Options parameters;                      // the workload's own parameters, defaults filled in
  std::map<std::string, Options> presets;  // "model" → the fields of the config file it names
  at::Device device = at::kCPU;
  Ops ops;  // attention and norm from the plugins, the rest textbook
  PrecisionPolicy precision;
  CommunicationHandle communication = nullptr;
  CompileBoundary* compile =
      nullptr;  // for verify(), which checks a step as it is launched; null: eager
  Group group;
  std::uint64_t seed = 0;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A quantity counted rather than measured: parameters, FLOPs, bytes.
struct Count {
  std::string metric;
  std::string part;  // usually ""
  double value = 0;
};

// What is measured. Passes are "inference", "forward", "backward", "forward_backward",
// "train_step" and what a workload adds.
class Program {
 public:
  virtual ~Program() = default;

  // Before each call of run(), outside the timed region: the forward of a backward pass,
  // gradients set to none.
  virtual void before(const std::string& /*pass*/) {}
  // The timed region. Asynchronous work on the current stream is waited for by the clock.
  virtual void run(const std::string& pass) = 0;
  // What a pass left behind, for verification: "loss", "out", "grad.<name>".
  virtual std::vector<NamedTensor> outputs(const std::string& /*pass*/) { return {}; }
  virtual std::vector<Count> counts(const std::string& /*pass*/) { return {}; }
};

// The result of checking a program against a reference in higher precision.
struct Verification {
  bool checked = false;
  double error = 0;      // ‖out − reference‖ / ‖reference‖, the largest over all outputs
  double tolerance = 0;  // of this dtype
  std::string worst;     // the output with the largest error
};

// One call of a pass as a program in another process made it: the tensors it started from and what
// came out, on the case's device, under the names that Program::outputs() gives.
struct Exchange {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};

class ProgramBoundary;

// A program as it was built for a case: the calls are Program's, and throw where the program did.
class ProgramHandle {
 public:
  ProgramHandle(ProgramBoundary& boundary) : boundary_(&boundary) {}
  void before(const std::string& pass) const;
  void run(const std::string& pass) const;

 private:
  ProgramBoundary* boundary_;
};

// A workload also has `static WorkloadInfo info()` and, when it has parameters, `options()`.
class Workload {
 public:
  static constexpr const char* kind = "workload";

  virtual ~Workload() = default;
  virtual std::unique_ptr<Program> build(const CaseContext& context) = 0;
  // Before timing, within affordable bounds; `pass` says how far it must go.
  virtual Verification verify(const CaseContext&, const std::string& /*pass*/) { return {}; }
  // The same for a call that another process made; `context` then lacks that program's kind. Throws
  // std::invalid_argument where the exchange lacks a tensor, or has one of another shape or dtype
  // than the case asks for.
  virtual Verification verify_exchange(const CaseContext&, const std::string& /*pass*/,
                                       const Exchange&) {
    return {};
  }
};

}  // namespace assay

#include <assay/detail/workload.h>
