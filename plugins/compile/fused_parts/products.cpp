#include "compile/fused_parts/products.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <assay/gradient_place.h>
#include <assay/ops.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/copy_rows.h"
#include "compile/fused_parts/node.h"

namespace assay::fused {

namespace {

using torch::autograd::variable_list;

at::Tensor weight_in(const std::vector<at::Tensor>& weights, at::ScalarType dtype,
                     WeightCopies& copies) {
  if (weights.front().scalar_type() != dtype) return copies.of(weights, dtype);
  return weights.size() == 1 ? weights.front().detach() : joined(weights);
}

// In fp32 a block's widest activation is not kept for the weights' gradient where its maker can
// compute it again: that takes some thousandths of the time of fp32's products. Those of TF32 and
// of 16 bits are several times as fast: there it is kept.
bool is_computed_again(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat && !at::globalContext().allowTF32CuBLAS() &&
         dynamic_cast<const Recomputable*>(x.grad_fn().get()) != nullptr &&
         x._version() == 0;  // as its maker left it
}

class ProductNode final : public torch::autograd::Node {
 public:
  ProductNode(const at::Tensor& x, const std::vector<at::Tensor>& weights, const at::Tensor& weight,
              std::shared_ptr<GradientPlaces> places, std::shared_ptr<MatrixProduct> product)
      : Node(edges(x, weights)),
        x_(is_computed_again(x) ? at::Tensor() : x.detach()),
        weight_(weight),
        leaves_(weights),
        sizes_(x.sizes().vec()),
        options_(weights.front().options().requires_grad(false)),
        places_(std::move(places)),
        product_(std::move(product)) {
    for (const at::Tensor& each : weights) rows_.push_back(each.size(0));
  }

  variable_list apply(variable_list&& gradients) override {
    TORCH_CHECK(weight_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    const c10::cuda::CUDAGuard device(weight_.device());
    variable_list results(1 + rows_.size());
    bool wanted = false;
    for (const at::Tensor& gradient : gradients) wanted = wanted || gradient.defined();
    if (!wanted) return results;
    const at::Tensor dout = places_->gathered(gradients);
    gradients.clear();
    places_->drop();
    if (wants_weights()) add_weights(dout, results);
    if (task_should_compute_output(0)) {
      const at::Tensor dx = at::empty(sizes_, weight_.options());
      (*product_)(dx.view({-1, dx.size(-1)}), dout, weight_);
      results[0] = dx;
    }
    return results;
  }

  void release_variables() override {
    x_ = weight_ = at::Tensor();
    leaves_.clear();
  }
  std::string name() const override { return "FusedProductsBackward"; }
  const std::shared_ptr<GradientPlaces>& places() const { return places_; }

 private:
  static torch::autograd::edge_list edges(const at::Tensor& x,
                                          const std::vector<at::Tensor>& weights) {
    std::vector<at::Tensor> inputs = {x};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    return edges_to(inputs);
  }

  bool wants_weights() const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (task_should_compute_output(i + 1)) return true;
    }
    return false;
  }

  // Where the gradients are wanted side by side, in the order of the weights, they are written
  // there.
  at::Tensor weights_place() const {
    std::vector<at::Tensor> places;
    for (const at::Tensor& leaf : leaves_) places.push_back(take_gradient_place(leaf));
    at::Tensor together = joined(places);
    const bool fits = together.defined() && (together.scalar_type() == options_.dtype() ||
                                             together.scalar_type() == at::kFloat);
    return fits ? together : at::empty({weight_.size(0), weight_.size(1)}, options_);
  }

  at::Tensor x() const {
    if (x_.defined()) return x_;
    return dynamic_cast<const Recomputable&>(*next_edge(0).function).again();
  }

  // Those of frozen weights are computed with the others and left out.
  void add_weights(const at::Tensor& dout, variable_list& results) const {
    const at::Tensor dweight = weights_place();
    (*product_)(dweight, dout.t(), as_rows(x()));
    std::int64_t row = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const at::Tensor own = dweight.narrow(0, row, rows_[i]);
      if (task_should_compute_output(i + 1)) {
        results[i + 1] = gradient_at(own, c10::typeMetaToScalarType(options_.dtype()));
      }
      row += rows_[i];
    }
  }

  at::Tensor x_;  // undefined where its maker computes it again
  at::Tensor weight_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::int64_t> sizes_;  // of x
  at::TensorOptions options_;
  std::vector<std::int64_t> rows_;
  std::shared_ptr<GradientPlaces> places_;
  std::shared_ptr<MatrixProduct> product_;
};

// Of one dtype.
void copy_rows(const at::Tensor& from, const at::Tensor& to) {
  const CopyRows call{.rows = from.size(0),
                      .bytes = from.size(1) * from.element_size(),
                      .from = data_of(from),
                      .from_stride = from.stride(0) * from.element_size(),
                      .to = data_of(to),
                      .to_stride = to.stride(0) * to.element_size()};
  if (can_launch(call)) {
    launch(call, c10::cuda::getCurrentCUDAStream());
  } else {
    to.copy_(from);
  }
}

}  // namespace

GradientPlaces::GradientPlaces(std::vector<std::int64_t> sizes, std::vector<std::int64_t> widths,
                               at::TensorOptions options)
    : sizes_(std::move(sizes)), widths_(std::move(widths)), options_(options) {
  for (const std::int64_t width : widths_) total_ += width;
}

at::Tensor GradientPlaces::place(std::size_t result) {
  auto sizes = sizes_;
  sizes.push_back(total_);
  if (!memory_.defined()) memory_ = at::empty(sizes, options_);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < result; ++i) first += widths_[i];
  return memory_.narrow(-1, first, widths_[result]);
}

// All gradients as one where they lie side by side in memory of that shape already.
at::Tensor GradientPlaces::together(const std::vector<at::Tensor>& gradients) const {
  const at::Tensor& first = gradients.front();
  if (!first.defined()) return {};
  auto sizes = sizes_;
  sizes.push_back(total_);
  auto strides = sizes;
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  std::int64_t column = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& each = gradients[i];
    const bool fits = each.defined() && each.is_alias_of(first) &&
                      each.storage_offset() == first.storage_offset() + column &&
                      each.strides() == at::IntArrayRef(strides);
    if (!fits) return {};
    column += widths_[i];
  }
  return first.as_strided(sizes, strides, first.storage_offset()).view({-1, total_});
}

at::Tensor GradientPlaces::gathered(const std::vector<at::Tensor>& gradients) {
  if (gradients.size() == 1) return as_rows(gradients.front());
  if (const at::Tensor all = together(gradients); all.defined()) return all;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    at::Tensor to = place(i);
    if (!gradients[i].defined()) {
      to.zero_();
    } else if (gradients[i].const_data_ptr() != to.const_data_ptr()) {
      copy_rows(as_rows(gradients[i]), to.view({-1, widths_[i]}));
    }
  }
  return memory_.view({-1, total_});
}

bool GradientPlaces::claim(std::size_t result) {
  claimed_.resize(widths_.size());
  const bool was = claimed_[result];
  claimed_[result] = true;
  return !was;
}

GradientPlace claimed_place(const at::Tensor& x) {
  constexpr int most_views = 2;
  torch::autograd::Edge edge(x.grad_fn(), static_cast<std::uint32_t>(x.output_nr()));
  for (int views = 0; edge.function != nullptr; ++views) {
    if (const auto* product = dynamic_cast<const ProductNode*>(edge.function.get())) {
      if (product->places()->claim(edge.input_nr)) return {product->places(), edge.input_nr};
      return {};
    }
    if (views == most_views || edge.function->num_outputs() != 1) break;
    edge = edge.function->next_edge(0);
  }
  return {};
}

at::ScalarType product_dtype(const at::Tensor& x) {
  const bool casts = at::autocast::is_autocast_enabled(at::kCUDA) && x.scalar_type() != at::kDouble;
  return casts ? at::autocast::get_autocast_dtype(at::kCUDA) : x.scalar_type();
}

bool Products::takes(const at::Tensor& x, const std::vector<at::Tensor>& weights) {
  if (!x.is_cuda() || x.dim() == 0 || !is_taken(x.scalar_type())) return false;
  const auto dtype = product_dtype(x);
  const auto own = weights.front().scalar_type();
  for (const at::Tensor& weight : weights) {
    const bool fits = weight.device() == x.device() && weight.scalar_type() == own &&
                      weight.dim() == 2 && weight.is_contiguous() && weight.size(1) == x.size(-1);
    if (!fits) return false;
  }
  // What autocast would convert; other mixtures are the textbook's to refuse.
  const bool converts = at::autocast::is_autocast_enabled(at::kCUDA) && is_taken(own);
  if (own != dtype) return converts;
  return weights.size() == 1 || joined(weights).defined();
}

std::vector<at::Tensor> Products::operator()(const at::Tensor& in,
                                             const std::vector<at::Tensor>& weights) const {
  const auto dtype = product_dtype(in);
  const at::Tensor x = in.to(dtype);
  const c10::cuda::CUDAGuard device(x.device());
  std::vector<at::Tensor> inputs = weights;
  inputs.push_back(x);
  const bool graph = wants_graph(inputs);
  const at::NoGradGuard no_graph;
  const at::Tensor weight = weight_in(weights, dtype, *copies_);
  auto sizes = x.sizes().slice(0, static_cast<std::size_t>(x.dim() - 1)).vec();
  std::vector<std::int64_t> widths;
  for (const at::Tensor& each : weights) widths.push_back(each.size(0));
  std::shared_ptr<ProductNode> node;
  if (graph) {
    auto places = std::make_shared<GradientPlaces>(sizes, widths, x.options().requires_grad(false));
    node = std::make_shared<ProductNode>(x, weights, weight, std::move(places), product_);
  }
  sizes.push_back(weight.size(0));
  const at::Tensor all = at::empty(sizes, x.options());
  (*product_)(all.view({-1, weight.size(0)}), as_rows(x.detach()), weight.t());
  std::vector<at::Tensor> results;
  std::int64_t column = 0;
  for (const std::int64_t width : widths) {
    const at::Tensor own = widths.size() == 1 ? all : all.narrow(-1, column, width);
    results.push_back(result_of(node, own));
    column += width;
  }
  return results;
}

}  // namespace assay::fused
