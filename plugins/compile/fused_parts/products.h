#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "compile/fused_parts/matrix_product.h"
#include "compile/fused_parts/weight_copies.h"

namespace assay::fused {

// Where the gradients of one product's results are gathered. An operation behind a result may write
// its gradient there, so that the product finds them together.
class GradientPlaces {
 public:
  // widths: columns of each result. sizes: of the results, without the last.
  GradientPlaces(std::vector<std::int64_t> sizes, std::vector<std::int64_t> widths,
                 at::TensorOptions options);
  // [sizes..., width of the result], a view of memory that is allocated with the first.
  at::Tensor place(std::size_t result);
  // [rows, Σ widths]; the gradients are in their places or are brought there. Undefined ones are 0.
  at::Tensor gathered(const std::vector<at::Tensor>& gradients);
  void drop() { memory_ = at::Tensor(); }
  // True once a result: two gradients written to one place would not be summed.
  bool claim(std::size_t result);

 private:
  at::Tensor together(const std::vector<at::Tensor>& gradients) const;

  std::vector<std::int64_t> sizes_, widths_;
  at::TensorOptions options_;
  std::int64_t total_ = 0;
  at::Tensor memory_;
  std::vector<bool> claimed_;
};

// A place for the gradient of `x`, a result of Products or a view of it. Of each result the first
// that asks gets it.
struct GradientPlace {
  std::shared_ptr<GradientPlaces> places;  // null: there is none
  std::size_t result = 0;
};
GradientPlace claimed_place(const at::Tensor& x);

// The products of one x [..., in] with several weights [out_i, in], as one product; results are
// views of one tensor. Backward, dx and the gradients of all weights are one product each, the
// latter written in the weights' own dtype.
class Products {
 public:
  Products(std::shared_ptr<MatrixProduct> product, std::shared_ptr<WeightCopies> copies)
      : product_(std::move(product)), copies_(std::move(copies)) {}

  // Whether one product can take them, now.
  static bool takes(const at::Tensor& x, const std::vector<at::Tensor>& weights);
  std::vector<at::Tensor> operator()(const at::Tensor& x,
                                     const std::vector<at::Tensor>& weights) const;

 private:
  std::shared_ptr<MatrixProduct> product_;
  std::shared_ptr<WeightCopies> copies_;
};

// The dtype of products of such an x: autocast's where it is on.
at::ScalarType product_dtype(const at::Tensor& x);

}  // namespace assay::fused
