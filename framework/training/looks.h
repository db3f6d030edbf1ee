#pragma once

#include <assay/workload.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "training/movement.h"
#include "training/start_copies.h"
#include "training/training_step.h"

namespace assay::training {

// What looks at training steps share. Ranks that look meet in collectives, so they agree first that
// all of them have the memory for what comes next.

// Where a group's collectives take small tensors; `device` is the one that its ranks train on.
at::Device meeting_device(const Group& group, at::Device device);

// Whether all ranks say yes; `device` is the one that they train on. They ask together.
bool all_ranks(const Group& group, at::Device device, bool own);

// Does what has no collectives. ok, or `oom` on all ranks where one of them lacked the memory for
// it. Throws what `work` throws otherwise.
Status with_memory_on_all_ranks(const Group& group, at::Device device,
                                const std::function<void()>& work);

// Throw PluginFailure with outcome `oom` where so many bytes cannot be had: of the host before
// anything is taken, since a process that takes more is stopped.
void need_host_memory(double bytes);
void need_memory(at::Device device, double bytes);

// What a training step that will be looked at starts from.
struct StepStart {
  std::vector<NamedTensor> parameters;  // whole
  Movement movement;
};

// The start of the next step that will be looked at, if any.
class KeptStart {
 public:
  // Ahead of a step; all ranks together. The start before is no more. parameters: how many there
  // are on all ranks. Where a rank lacks the memory none is kept.
  void keep(const Group& group, at::Device device, const TrainingStep& step, double parameters);
  void drop() { start_.reset(); }
  // Null where none was kept; the next call has none.
  std::unique_ptr<StepStart> take();
  const std::string& why_none() const { return why_none_; }

 private:
  StartCopies copies_;
  std::unique_ptr<StepStart> start_;
  std::string why_none_ = "what the step started from was not kept";
};

// In place; the last makes each "grad.…" the mean over the ranks. All call them together.
void sum_of_ranks(const Group& group, at::Tensor& tensor);
void largest_of_ranks(const Group& group, at::Tensor& tensor);
void average_gradients(const Group& group, std::vector<NamedTensor>& outputs);

// Whether a gradient is not finite: under loss scaling the step is skipped.
bool overflown(const std::vector<NamedTensor>& outputs);

// A check that has not taken place.
Verification left_out(std::string reason);

}  // namespace assay::training
