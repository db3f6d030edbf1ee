#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compile/fused_parts/capture_place.h"

namespace assay::fused {

// Where, in the backward of a step that is being captured, weights are done with: their gradients
// written, their copies read for the last time. Their update can begin there, on some
// multiprocessors beside what is left of the backward.
class FinishedWeights {
 public:
  // multiprocessors: that updates get beside the backward; 0: none begins early.
  explicit FinishedWeights(int multiprocessors) : multiprocessors_(multiprocessors) {}

  // A step is made ready. Whether its updates may begin early: where other ranks' reductions change
  // gradients they may not.
  void begin(bool may_begin_early);
  // The optimizer says, in calls ahead of the capture too, what it would update early.
  void expect_updates(const std::vector<at::Tensor>& parameters);
  void expect_none() { expects_ = false; }

  int multiprocessors() const { return multiprocessors_; }
  // That cuBLASLt is to choose a backward's products for, 0: all.
  int left_to_products() const;

  // `weight` is done with behind what the current stream has launched, unless it is added or used
  // again.
  void add(const at::Tensor& weight, const at::Tensor& gradient);
  void use(const at::Tensor& weight);

  struct Finished {
    std::int64_t number;  // in the order of the backward
    CapturePlace place;
  };
  // Nothing where the gradient is another tensor by now or was changed, or of another capture.
  std::optional<Finished> of(const at::Tensor& weight, const at::Tensor& gradient,
                             const CapturePlace& here) const;
  // The gradients' memory is held until then.
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::optional<Finished> finished;  // nothing outside a capture
    at::Storage gradient;              // held, so that no other gets its address
    const void* address = nullptr;
    std::int64_t version = 0;
    bool is_last = true;
  };
  int multiprocessors_;
  bool may_begin_ = false, expects_ = false;
  std::map<const at::TensorImpl*, Entry> entries_;
};

}  // namespace assay::fused
