#pragma once

#include <assay/communication.h>
#include <assay/ops.h>
#include <assay/precision.h>
#include <assay/record.h>
#include <c10/core/Device.h>

namespace assay {

class CompileBoundary;

// The resolved case, from which a workload builds its program.
struct CaseContext {
  Options parameters;                      // the workload's own parameters, defaults filled in
  std::map<std::string, Options> presets;  // "model" → the fields of the config file it names
  at::Device device = at::kCPU;
  Ops ops;  // attention and norm from the plugins, the rest textbook
  PrecisionPolicy precision;
  CommunicationHandle communication = nullptr;
  CompileBoundary* compile =
      nullptr;  // for verify(), which checks a step as it is launched; null: eager
  Group group;  // all ranks
  Mesh mesh;    // the same and their named groups, for communication variants
  std::uint64_t seed = 0;
  TraceHandle trace;  // where a step names its phases and spans
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A quantity that is counted, not measured: parameters, FLOPs, bytes.
struct Count {
  std::string metric;
  std::string part;  // usually ""
  double value = 0;
};

// What is measured. Passes are "inference", "forward", "backward", "forward_backward", "train_step"
// and any that a workload adds.
class Program {
 public:
  virtual ~Program() = default;

  // Called before each run(), untimed: runs the forward of a backward pass, clears gradients.
  virtual void before(const std::string& /*pass*/) {}
  // The timed region. The clock waits for asynchronous work on the current stream.
  virtual void run(const std::string& pass) = 0;
  // Above 0: the clock `wall` asks for so many calls in a row at a time, and a sample is their time
  // divided by their number. For calls whose rate is the question. The same on all ranks, and for
  // every call of the pass.
  virtual int calls_in_a_row(const std::string& /*pass*/) { return 0; }
  // So many calls of the pass with nothing in between, and returns once all of them have finished.
  // Only where calls_in_a_row() is above 0.
  virtual void run_in_a_row(const std::string& pass, int calls) {
    for (int i = 0; i < calls; ++i) run(pass);
  }
  // What the last call left, for verification: "loss", "out", "grad.<name>".
  virtual std::vector<NamedTensor> outputs(const std::string& /*pass*/) { return {}; }
  virtual std::vector<Count> counts(const std::string& /*pass*/) { return {}; }
  // Records what the pass left beside its times: series by part, words, spans, artefacts. Called
  // once a pass, untimed, after all its timed calls (of an unclocked pass: after its one call). It
  // may run the pass again.
  virtual void record(const std::string& /*pass*/, Recorder&) {}
};

// Result of a check against a reference in higher precision.
struct Verification {
  bool checked = false;
  double error = 0;      // ‖out − reference‖ / ‖reference‖, largest over all outputs
  double tolerance = 0;  // of this dtype
  std::string worst;     // the output with the largest error
};

// One call of a pass by a program in another process: its input and output tensors, on the case's
// device, under the names of Program::outputs().
struct Exchange {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};

class ProgramBoundary;

// The program built for a case. Throws PluginFailure where the program throws.
class ProgramHandle {
 public:
  ProgramHandle(ProgramBoundary& boundary) : boundary_(&boundary) {}
  void before(const std::string& pass) const;
  void run(const std::string& pass) const;

 private:
  ProgramBoundary* boundary_;
};

// A workload also declares `static WorkloadInfo info()` and, for parameters, `options()`.
class Workload {
 public:
  static constexpr const char* kind = "workload";

  virtual ~Workload() = default;
  virtual std::unique_ptr<Program> build(const CaseContext& context) = 0;
  // Called before timing, at bounded cost; `pass` says how far it must go.
  virtual Verification verify(const CaseContext&, const std::string& /*pass*/) { return {}; }
  // Verifies a call that another process made; `context` then lacks the kind which that program
  // supplies. Throws std::invalid_argument for a missing tensor or one of another shape or dtype.
  virtual Verification verify_exchange(const CaseContext&, const std::string& /*pass*/,
                                       const Exchange&) {
    return {};
  }
};

}  // namespace assay

#include <assay/detail/workload.h>
