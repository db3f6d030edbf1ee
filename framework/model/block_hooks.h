#pragma once

#include <ATen/core/Tensor.h>
#include <assay/communication.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace assay::model {

struct BlockCalls {
  std::function<void(int block)> before_forward;
  std::function<void(int block)> after_forward;
  std::function<void(int block)> before_backward;
  std::function<void(int block)> after_backward;
};

// Calls something around each block of a model, in forward and in backward. Without calls it does
// nothing. A block is everything between its entry and its exit; what it reads and leaves must pass
// through the tensors named there.
class BlockHooks {
 public:
  BlockHooks() = default;
  // first_trained: the first block with a parameter that requires gradients. From its exit on
  // backward hooks come, whether or not this rank's graph needs them, so that ranks agree.
  BlockHooks(BlockCalls calls, int first_trained);
  // Those of a communication variant; none where it wants none.
  static BlockHooks of(CommunicationHandle communication, const TrainedModel& model);

  explicit operator bool() const { return state_ != nullptr; }

  // Ahead of a block's forward: `inputs` are replaced by the same values whose gradients end the
  // block's backward. Undefined ones are left out.
  void enter(int block, std::initializer_list<at::Tensor*> inputs) const;
  // After it: gradients of `outputs` begin the block's backward.
  void leave(int block, std::initializer_list<at::Tensor*> outputs) const;

  // The calls of a forward alone, for one that checkpointing repeats.
  void before_again(int block) const;
  void after_again(int block) const;

  // Around autograd's backward. The second ends the blocks whose inputs need no gradients.
  void backward_begins() const;
  void backward_ended() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Index of the first block with a parameter that requires gradients; the number of blocks where
// none has.
int first_trained_block(const TrainedModel& model);

}  // namespace assay::model
