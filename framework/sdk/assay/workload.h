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

// Result of a check against a reference in higher precision.
struct Verification {
  bool checked = false;
  double error = 0;      // ‖out − reference‖ / ‖reference‖, largest over all outputs
  double tolerance = 0;  // of this dtype
  std::string worst;     // the output with the largest error
  double textbook = 0;   // error there of textbook operations in the dtype; 0: not compared
  std::string left_out;  // why nothing is checked, for people; of a look
};

// How a call that was timed is looked at.
struct Look {
  std::uint64_t seed = 0;        // drawn after the call
  at::Device device = at::kCPU;  // where the reference finds its memory
};

// What a pass's calls depend on. Ahead of each timed call, outside of its time, the worker changes
// the contents in place and so that it can change them back: some signs and magnitudes of floating
// tensors, bits of others. No call then starts from what an earlier one has had.
struct ProgramInput {
  std::string name;
  at::Tensor tensor;       // without gaps or overlaps, in memory that no other input has
  bool of_before = false;  // read by before(), so that it is changed ahead of it, not behind it
  std::int64_t below = 0;  // above 0: int64 numbers in [0, below), as which they are drawn anew
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
  // Tensors that may be changed between calls; none: every call starts from the same. The same
  // tensors in every call of the pass, which must leave them as they are.
  virtual std::vector<ProgramInput> inputs(const std::string& /*pass*/) { return {}; }
  // For inputs that a call writes over, or whose reference follows from all ranks' contents: the
  // program renews them itself. Called ahead of before() of each timed call, or of calls in a row,
  // untimed and outside of captures. The contents, outputs included, follow from the number, which
  // is secret until then and the same on all ranks; 0: as they were built. look() then also tells
  // whether a call changed an input that it may not. Returns how many inputs it renews, also where
  // the pass has not been called yet; 0: none.
  virtual int renew(const std::string& /*pass*/, std::uint64_t /*number*/) { return 0; }
  // Whether run() writes all of outputs() anew whatever their memory held; in "backward" those
  // named "grad.…". The worker then writes NaN there between calls.
  virtual bool writes_outputs_anew(const std::string& /*pass*/) { return false; }
  // A call is about to be made that look() will follow: keeps, in host memory, what the reference
  // needs of the state that the call changes. All ranks together. Ranks agree that all have the
  // memory before they meet in a collective, here and in look(): where one has not, look() checks
  // nothing and says so in `left_out`.
  virtual void expect_look(const std::string& /*pass*/) {}
  // Compares what the last call left with a reference in higher precision for the contents that
  // inputs() have now, at bounded cost: rows or elements drawn from `look.seed`, over all of each
  // output. All ranks together.
  virtual Verification look(const std::string& /*pass*/, const Look&) { return {}; }
  // Records what the pass left beside its times: series by part, words, spans, artefacts. Called
  // once a pass, untimed, after all its timed calls (of an unclocked pass: after its one call). It
  // may run the pass again.
  virtual void record(const std::string& /*pass*/, Recorder&) {}
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
