#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <assay/mesh.h>
#include <assay/plugin.h>
#include <assay/record.h>

#include <optional>

namespace assay {

struct ModelParameter {
  std::string name;   // "blocks.0.attention.q.weight"
  at::Tensor tensor;  // a leaf; frozen where it does not require gradients
  // The model takes it in its own dtype or in this one: under autocast that of the matrix products,
  // where it is an operand of nothing else. Gradients have the dtype it is given in.
  at::ScalarType compute = at::kFloat;
};

// Parameters that one part of the forward uses, and nothing outside it does.
struct ParameterBlock {
  std::string name;                     // "embedding", "blocks.0", "head"
  std::vector<std::size_t> parameters;  // a tied parameter belongs to several blocks
};

// A model as it is attached: parameters once each, blocks in the order of the forward.
struct TrainedModel {
  std::vector<ModelParameter> parameters;
  std::vector<ParameterBlock> blocks;
};

// A run of one parameter's elements, in row-major order.
struct Piece {
  std::size_t parameter = 0;  // index among the model's
  std::int64_t first = 0;     // element of the parameter
  std::int64_t count = 0;
  std::int64_t at = 0;  // element of the slice where the run begins
};

// Values that this rank's optimizer updates: a parameter, or a slice of a flat buffer.
struct Slice {
  // Any shape, contiguous. Its grad() is its gradient, undefined until there is one.
  at::Tensor values;
  std::vector<Piece> pieces;  // what the values are; those in no piece are padding
  std::string buffer;         // name of the flat buffer, the same on every rank
  std::int64_t first = 0;     // element of the buffer where the slice begins
  bool replicated = false;    // every rank of the world has the same slice and updates it
  bool frozen = false;        // never updated
  // Undefined, or the same values in another dtype, which follow each update of them.
  at::Tensor low_precision = {};
};

// What a variant divides by the ranks and sends, by its definition. Of what is sent, a round is
// every rank's share of all bytes once around a ring: an all-reduce takes two, reduce-scatter,
// all-gather and broadcast one.
struct Sharing {
  bool parameters = false;  // each rank holds its share of them alone
  bool gradients = false;
  bool moments = false;
  bool copies = false;        // the model computes with 16-bit copies of what the optimizer updates
  double gradient_bytes = 4;  // of an element, as it is summed and kept
  double gradient_rounds = 0;
  double parameter_rounds = 0;
};

// How gradients travel between ranks, and where parameters, gradients and moments live.
//
// One step, on the training thread: clear_gradients; before_forward and after_forward around each
// block; backward_begins; before_backward and after_backward around each block, from the last to
// the first, and gradient_ready as autograd finishes each parameter; backward_finished; the
// optimizer on slices(); after_step. A pass may end after its forward or its backward. A forward
// without gradients has its hooks, too. Under checkpointing a block's forward comes once more, with
// its hooks, between its before_backward and after_backward. Hooks come for every block that has a
// trained parameter or follows one that has, in the same order on every rank, whatever the rank
// used; the last ones may come only when the backward has ended.
//
// Parameters' storage is the variant's. In attach it may give a parameter other data with
// `tensor.set_data()`, in the dtype `compute` or its own, such as a view of a flat buffer. A block
// reads its parameters between before_forward and after_forward and between before_backward and
// after_backward. Elsewhere their memory may be freed, if it is restored in the same storage: views
// that autograd saved remain valid (FlatBuffer in <assay/flat_buffer.h>). Writes go through a
// tensor with a version counter of its own, such as that buffer.
class Communication {
 public:
  static constexpr const char* kind = "communication";

  virtual ~Communication() = default;

  // Called once, before the first step. The model owns the parameters, which may differ between
  // ranks; afterwards all ranks have rank 0's. Spans of `trace` show its own work on a timeline;
  // the mesh's collectives are spans already.
  virtual void attach(const TrainedModel& model, const Mesh& mesh, TraceHandle trace) = 0;

  // Only where wants_blocks() is true.
  virtual void before_forward(int /*block*/) {}
  virtual void after_forward(int /*block*/) {}
  virtual void before_backward(int /*block*/) {}
  virtual void after_backward(int /*block*/) {}

  // loss: with its graph, before anything is scaled.
  virtual void backward_begins(const at::Tensor& /*loss*/) {}
  // Only where wants_gradient_ready() is true: the parameter's gradient is complete.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  // On return the gradient of each slice that this rank updates must be the mean over ranks. A
  // gradient that a rank lacks counts as 0; one that all lack is 0 or undefined.
  virtual void backward_finished() {}

  // Where every element of every parameter lives: each in a slice of one rank, or in replicated
  // ones. Moments exist for these alone. Nothing: the parameters themselves, replicated. Constant
  // after attach.
  virtual std::optional<std::vector<Slice>> slices() { return {}; }
  // Adds the values of the ranks that update different slices, in place. Called by every rank where
  // slices() gives something, for the global gradient norm (the sum of squares) and for overflows
  // under loss scaling. value: a float tensor.
  virtual void sum_over_owners(at::Tensor& /*value*/) {}
  // The slices have new values, from the optimizer or a checkpoint: brings them to all who compute
  // with them.
  virtual void after_step() {}

  // Only where keeps_gradients() is true: gradients live in the variant's buffers, whose views stay
  // the parameters' and the slices' grad() from step to step. Makes them 0. Otherwise the
  // parameters' and the slices' gradients are dropped.
  virtual void clear_gradients() {}

  // Records more than what was sent, which is counted by itself. The workload's metrics apply.
  virtual void record(Recorder&) {}
  // For predictions beside what is measured. Nothing: none are made.
  virtual std::optional<Sharing> sharing() { return {}; }

  // These are constant. A variant that wants no hooks gets none, at no cost.
  virtual bool wants_blocks() const { return false; }
  virtual bool wants_gradient_ready() const { return false; }
  virtual bool keeps_gradients() const { return false; }
  // Whether gradients travel at all; if false, each rank trains a model of its own.
  virtual bool synchronizes() const { return true; }
  // Whether a CUDA graph may capture its calls.
  virtual bool capturable() const { return false; }
};

struct CommunicationTraits {
  bool wants_blocks = false;
  bool wants_gradient_ready = false;
  bool keeps_gradients = false;
  bool synchronizes = true;
  bool capturable = false;

  bool operator==(const CommunicationTraits&) const = default;
};

class CommunicationBoundary;

// The case's communication variant as a workload calls it. Throws PluginFailure where the variant
// throws. False where the case has none.
class CommunicationHandle {
 public:
  CommunicationHandle(CommunicationBoundary* boundary) : boundary_(boundary) {}
  explicit operator bool() const { return boundary_ != nullptr; }

  void attach(const TrainedModel& model, const Mesh& mesh, TraceHandle trace = {}) const;
  void before_forward(int block) const;
  void after_forward(int block) const;
  void before_backward(int block) const;
  void after_backward(int block) const;
  void backward_begins(const at::Tensor& loss) const;
  void gradient_ready(std::size_t parameter) const;
  void backward_finished() const;
  std::optional<std::vector<Slice>> slices() const;
  void sum_over_owners(at::Tensor& value) const;
  void after_step() const;
  void clear_gradients() const;
  void record(Recorder& recorder) const;
  std::optional<Sharing> sharing() const;
  CommunicationTraits traits() const;

 private:
  CommunicationBoundary* boundary_;
};

}  // namespace assay

#include <assay/detail/communication.h>
