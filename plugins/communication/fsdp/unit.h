#pragma once

#include <assay/communication.h>
#include <assay/flat_buffer.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <optional>
#include <string>
#include <vector>

namespace assay::communication {

// A unit's parameters of one kind: trained or frozen, of one dtype and computed in one dtype. This
// rank keeps its slice; all of it exists while the unit is gathered.
struct Shard {
  std::string name;
  std::vector<std::size_t> parameters;
  std::vector<at::Tensor> tensors;
  FlatBuffer whole;      // in the dtype of the computation; released in between
  FlatBuffer gradients;  // whole, to be reduced; released in between
  at::Tensor own;        // this rank's slice, in the parameters' dtype
  bool trained = false;
};

// Blocks whose parameters are gathered together.
class Unit {
 public:
  // blocks: first and last that the unit consists of.
  Unit(Group group, int first_block, int last_block);

  // alike: parameters of the model that no earlier unit has and that can lie in one buffer.
  void add(const TrainedModel& model, std::vector<std::size_t> alike, at::ScalarType gradients);

  const std::vector<Shard>& shards() const { return shards_; }
  int first_block() const { return first_block_; }
  int last_block() const { return last_block_; }
  bool has(int block) const { return first_block_ <= block && block <= last_block_; }
  bool is_trained() const;
  // Of its parameters, in the dtype of the computation.
  double gathered_bytes() const;

  // Begins to gather the parameters, unless they are there or on their way. stream: where a GPU
  // prepares them, beside the current stream's further work.
  void start_gather(const std::optional<c10::Stream>& stream);
  // The current stream waits until they are there.
  void finish_gather();
  // Frees them.
  void release();

  // Begins to reduce the gradients, which are complete, to the owners' slices. False where there
  // are none, or where it has begun in this backward.
  bool start_reduce();
  // The current stream waits for that, and the whole gradients are freed.
  void finish_reduce();
  void begin_backward() { is_reduced_ = false; }

  int users = 0;  // blocks that are within their forward or backward

 private:
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  bool on_nccl() const { return group_.size > 1 && group_.backend->getBackendName() == "nccl"; }
  void prepare_and_gather();
  void reduce(const std::vector<at::Tensor>& own, const std::vector<at::Tensor>& whole);

  Group group_;
  int first_block_;
  int last_block_;
  std::vector<Shard> shards_;
  std::vector<WorkPointer> gathers_;
  std::vector<WorkPointer> reductions_;
  std::optional<c10::Event> reached_;  // by the stream of the computation
  bool is_gathered_ = false;           // or on its way
  bool is_reducing_ = false;
  bool is_reduced_ = false;
};

}  // namespace assay::communication
