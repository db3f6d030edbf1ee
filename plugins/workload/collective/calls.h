#pragma once

#include <assay/workload.h>

#include <memory>
#include <string>
#include <vector>

#include "workload/collective/operation.h"

namespace assay::collective {

// Where one call reads and writes; in place they overlap as the operation wants it.
struct Slot {
  at::Tensor in;   // [shape.in]
  at::Tensor out;  // [shape.out]
};

// The calls of one operation through one layer, on slots that are used in turn.
class Calls {
 public:
  virtual ~Calls() = default;
  // Begins a call: on a GPU on the current stream.
  virtual void launch(std::size_t slot) = 0;
  // Until the calls begun have finished: the current stream waits, and over Gloo the host.
  virtual void wait() = 0;
  // launch() and wait() of so many, on slots 0, 1, … in turn. Calls that the layer can queue are
  // waited for once, behind the last.
  virtual void in_a_row(int calls) = 0;
  // Lets all ranks begin at once: on a GPU the smallest all-reduce through the same layer, which
  // the current stream waits for, over Gloo a barrier.
  virtual void meet() = 0;
};

// One way to call collectives, kept for a case.
class Layer {
 public:
  virtual ~Layer() = default;
  // slots: at least one. Throws Unsupported for what the layer or its backend lacks.
  virtual std::unique_ptr<Calls> calls(const Operation& operation, const Shape& shape,
                                       std::vector<Slot> slots) = 0;
};

// c10d's own functions over the group's backend. asynchronous: on NCCL's stream, as training
// overlaps them; otherwise on the caller's, as torch.distributed calls them by default.
std::unique_ptr<Layer> c10d_layer(const Group& group, at::Device device, bool asynchronous);
// NCCL's functions on a communicator of its own, which the ranks make together. Throws Unsupported
// where the group's backend is another one or the build has no NCCL.
std::unique_ptr<Layer> nccl_layer(const Group& group, at::Device device);

}  // namespace assay::collective
