#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <vector>

namespace assay::fused {

// Copies of weights in the dtype of the products, kept from call to call where keep() allows it:
// made anew only where somebody has changed a weight as tensor operations do, which count its
// versions, or has given it other memory. The optimizer's kernel counts none and writes the copies
// itself.
class WeightCopies {
 public:
  // Only where nobody else writes to weights behind their version counters.
  void keep(bool keep) { keeps_ = keep; }

  // [Σ out_i, in] of weights [out_i, in] of one dtype, one behind another. Without keep() new at
  // each call.
  at::Tensor of(const std::vector<at::Tensor>& weights, at::ScalarType dtype);
  // That of a weight, or undefined, for an optimizer that writes it.
  at::Tensor kept(const at::Tensor& weight) const;
  // Makes those right whose weights have changed.
  void refresh();

 private:
  struct Member {
    c10::weak_intrusive_ptr<c10::TensorImpl> weight;
    const void* data = nullptr;
    std::int64_t version = -1;
    at::Tensor copy;  // a part of the group's
  };
  struct Group {
    std::vector<Member> members;
    at::Tensor copy;
  };

  static void refresh(Member& member, const at::Tensor& weight);
  static bool is_of(const Group& group, const std::vector<at::Tensor>& weights,
                    at::ScalarType dtype);
  void drop_dead();

  bool keeps_ = false;
  std::unordered_map<const c10::TensorImpl*, Group> groups_;  // by the first weight
  std::unordered_map<const c10::TensorImpl*, at::Tensor> copies_;
};

}  // namespace assay::fused
