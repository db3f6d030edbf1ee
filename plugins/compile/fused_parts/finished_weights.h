#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>

#include "compile/fused_parts/capture_place.h"

namespace assay::fused {

// Where, in the backward of a step that is being captured, weights are done with: their gradients
// written, their copies read for the last time. Their update can begin there, on some
// multiprocessors beside what is left of the backward.
class FinishedWeights {
 public:
  // multiprocessors: that updates get beside the backward; 0: none begins early.
  explicit FinishedWeights(int multiprocessors) : multiprocessors_(multiprocessors) {}

  // A step is made ready, which will be captured or not.
  void begin(bool captured);
  // The optimizer says, in calls ahead of the capture, whether its updates may begin early.
  void expect_update(bool may_begin) { expects_ = captured_ && may_begin; }

  int multiprocessors() const { return multiprocessors_; }
  // That a backward's products are to use at most, 0: all.
  int left_to_products() const;

  // `weight` is done with behind what the current stream has launched. One that is added twice is
  // not.
  void add(const at::Tensor& weight, const at::Tensor& gradient);

  struct Finished {
    std::int64_t number;  // in the order of the backward
    CapturePlace place;
  };
  // Nothing where the gradient is another tensor by now or was changed, or of another capture.
  std::optional<Finished> of(const at::Tensor& weight, const at::Tensor& gradient,
                             const CapturePlace& here) const;

 private:
  struct Entry {
    Finished finished;
    const void* gradient;
    std::int64_t version;
    bool is_single = true;
  };
  int multiprocessors_;
  bool captured_ = false, expects_ = false;
  std::map<const at::TensorImpl*, Entry> entries_;
};

}  // namespace assay::fused
