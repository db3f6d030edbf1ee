#include "conformance/norm_operation.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/differentiable.h"
#include "model/random.h"

namespace assay::conformance {

namespace {

const char* text(NormLayout layout) {
  switch (layout) {
    case NormLayout::contiguous:
      return "contiguous";
    case NormLayout::transposed:
      return "the last dimension stored first";
    case NormLayout::every_second:
      return "every second row of a longer tensor";
    case NormLayout::columns_apart:
      return "every second column of a wider tensor";
    case NormLayout::expanded:
      return "one row for all (stride 0)";
    case NormLayout::shifted:
      return "rows of n_cols + 1, from the second column on";
  }
  return "";
}

const char* text(NormValues values) {
  switch (values) {
    case NormValues::normal:
      return "normal values";
    case NormValues::tiny:
      return "values around 0.001";
    case NormValues::large:
      return "values around 1000: their squares are beyond fp16's range";
    case NormValues::constant:
      return "all values 3";
    case NormValues::zero:
      return "all values 0";
    case NormValues::offset:
      return "values around 100";
    case NormValues::one_large:
      return "one column 1000 times as large";
  }
  return "";
}

at::Tensor with_layout(const at::Tensor& x, NormLayout layout) {
  auto sizes = x.sizes().vec();
  const auto last = x.dim() - 1;
  const auto stored = [&](const at::Tensor& view) { return view.copy_(x); };
  switch (layout) {
    case NormLayout::contiguous:
      return x;
    case NormLayout::transposed:
      std::swap(sizes.front(), sizes.back());
      return stored(at::empty(sizes, x.options()).transpose(0, last));
    case NormLayout::every_second:
      sizes[0] *= 2;
      return stored(at::empty(sizes, x.options()).slice(0, 0, {}, 2));
    case NormLayout::columns_apart:
      sizes.back() *= 2;
      return stored(at::empty(sizes, x.options()).slice(last, 0, {}, 2));
    case NormLayout::expanded:
      return x.narrow(0, 0, 1).contiguous().expand(sizes);
    case NormLayout::shifted:
      sizes.back() += 1;
      return stored(at::empty(sizes, x.options()).narrow(last, 1, x.size(last)));
  }
  return x;
}

at::Tensor with_values(at::Tensor x, NormValues values) {
  switch (values) {
    case NormValues::tiny:
      return x.mul_(1e-3);
    case NormValues::large:
      return x.mul_(1000);
    case NormValues::constant:
      return x.fill_(3);
    case NormValues::zero:
      return x.zero_();
    case NormValues::offset:
      return x.add_(100);
    case NormValues::one_large:
      x.select(-1, 0).mul_(1000);
      return x;
    default:
      return x;
  }
}

// Statistics in fp32 or wider, as the kind requires; two passes over x.
at::Tensor textbook(const NormInputs& in, bool centred) {
  const auto wide = in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto x = in.x.to(wide);
  if (centred) x = x - x.mean(-1, /*keepdim=*/true);
  const auto mean_square = x.square().mean(-1, /*keepdim=*/true);
  auto out = x * at::rsqrt(mean_square + in.eps) * in.weight.to(wide);
  if (in.bias.defined()) out = out + in.bias.to(wide);
  return out.to(in.x.scalar_type());
}

at::Tensor shown(NormEntry entry, const at::Tensor& sum, const at::Tensor& out) {
  return entry == NormEntry::sum ? sum : entry == NormEntry::out ? out : sum + out;
}

// The gradient of x is (cancelling terms of dout · weight) / √(mean square + eps).
std::vector<Expected> reference(const NormInputs& in, const at::Tensor& dout, bool centred) {
  const auto leaf = [](const at::Tensor& x) {
    return x.defined() ? x.detach().to(at::kDouble).contiguous().requires_grad_() : x;
  };
  const NormInputs wide = {leaf(in.x), leaf(in.weight), leaf(in.bias), in.eps};
  const auto out = reference::differentiable_norm(wide, centred);
  std::vector<at::Tensor> leaves = {wide.x, wide.weight};
  if (wide.bias.defined()) leaves.push_back(wide.bias);
  const auto gradients = torch::autograd::grad({out}, leaves, {dout.to(at::kDouble)});

  const double weight = root_mean_square(in.weight);
  const auto x = wide.x.detach();
  const auto from_mean = centred ? x - x.mean(-1, true) : x;
  const auto steepest = at::rsqrt(from_mean.square().mean(-1, true) + in.eps);
  const double upstream = root_mean_square(dout);
  const double rows = static_cast<double>(in.x.numel()) / static_cast<double>(in.x.size(-1));
  std::vector<Expected> expected = {
      {"out", out.detach(), weight},
      {"grad.x", gradients[0], upstream * weight * root_mean_square(steepest)},
      {"grad.weight", gradients[1], upstream * std::sqrt(rows)}};
  if (wide.bias.defined()) {
    expected.push_back({"grad.bias", gradients[2], upstream * std::sqrt(rows)});
  }
  return expected;
}

std::vector<Expected> add_reference(const at::Tensor& residual, const NormInputs& in,
                                    NormEntry entry, bool centred, const at::Tensor& dout) {
  const auto none = at::zeros_like(dout);
  const auto found =
      reference::add_norm(residual, in, centred, entry == NormEntry::out ? none : dout,
                          entry == NormEntry::sum ? none : dout);
  // Errors of the norm's part are measured as those of the norm alone are.
  NormInputs summed = in;
  summed.x = residual.to(at::kDouble) + in.x.to(at::kDouble);
  const auto alone = reference(summed, dout, centred);
  std::vector<Expected> expected = {{"out", shown(entry, found.sum, found.out), 0},
                                    {"grad.residual", found.dsum, alone[1].floor},
                                    {"grad.x", found.dsum, alone[1].floor}};
  if (entry == NormEntry::sum) return expected;
  expected.push_back({"grad.weight", found.dweight, alone[2].floor});
  if (found.dbias.defined()) expected.push_back({"grad.bias", found.dbias, alone[3].floor});
  return expected;
}

// Calls as a case does.
Ops ops_of(NormBoundary& norm) {
  Ops ops;
  model::set_norm(ops, norm);
  return ops;
}

}  // namespace

std::string text(const NormShape& shape) {
  std::string words =
      fmt::format("x [{}], {}", fmt::join(shape.sizes, ", "), dtype_text(shape.dtype));
  if (shape.wide_weight) words += ", weight in fp32";
  if (shape.wide_residual) words += ", residual in fp32";
  if (shape.eps != 1e-5) words += fmt::format(", eps {:g}", shape.eps);
  if (shape.layout != NormLayout::contiguous) words += fmt::format(", {}", text(shape.layout));
  if (shape.values != NormValues::normal) words += fmt::format(", {}", text(shape.values));
  return words;
}

const char* text(NormEntry entry) {
  switch (entry) {
    case NormEntry::out:
      return "with a residual: the normalised sum";
    case NormEntry::sum:
      return "with a residual: the sum";
    case NormEntry::both:
      return "with a residual: both results added";
  }
  return "";
}

Operation norm_operation(NormBoundary& norm, const NormShape& shape, const at::Device& device) {
  NormTraits traits;
  throw_unless_ok(norm.traits(traits));
  const bool has_bias = traits.has_bias, centred = traits.centred;
  const auto generator = model::seeded_generator(at::kCPU, 12);
  const auto random = [&](const std::vector<std::int64_t>& sizes) {
    return at::randn(sizes, generator, at::TensorOptions(at::kDouble));
  };
  const auto vector_dtype = shape.wide_weight ? at::kFloat : shape.dtype;
  Operation made;
  const auto x = with_layout(with_values(random(shape.sizes), shape.values).to(device, shape.dtype),
                             shape.layout);
  const auto weight = (random({shape.columns()}) * 0.5 + 1).to(device, vector_dtype);
  made.inputs = {{"x", x}, {"weight", weight}};
  if (has_bias) made.inputs.push_back({"bias", random({shape.columns()}).to(device, vector_dtype)});
  made.dout = with_layout(random(shape.sizes).to(device, shape.dtype), shape.layout);
  made.tolerance = dtype_tolerance(shape.dtype);

  const auto inputs = [has_bias, eps = shape.eps](const std::vector<at::Tensor>& all) {
    return NormInputs{all[0], all[1], has_bias ? all[2] : at::Tensor(), eps};
  };
  made.call = [call = ops_of(norm).norm, inputs](const std::vector<at::Tensor>& all) {
    return call(inputs(all));
  };
  made.textbook = [inputs, centred](const std::vector<at::Tensor>& all) {
    return textbook(inputs(all), centred);
  };
  const NormInputs in = {x, weight, has_bias ? made.inputs[2].tensor : at::Tensor(), shape.eps};
  made.reference = [in, dout = made.dout, centred] { return reference(in, dout, centred); };
  return made;
}

Operation add_norm_operation(NormBoundary& norm, const NormShape& shape, NormEntry entry,
                             const at::Device& device) {
  NormTraits traits;
  throw_unless_ok(norm.traits(traits));
  const Operation alone = norm_operation(norm, shape, device);
  const auto generator = model::seeded_generator(at::kCPU, 14);
  const auto residual_dtype = shape.wide_residual ? at::kFloat : shape.dtype;
  const auto residual = with_layout(
      at::randn(shape.sizes, generator, at::TensorOptions(at::kDouble)).to(device, residual_dtype),
      shape.layout);
  std::vector<at::Tensor> vectors;  // weight and bias
  for (std::size_t i = 1; i < alone.inputs.size(); ++i) vectors.push_back(alone.inputs[i].tensor);

  Operation made = alone;
  made.inputs.insert(made.inputs.begin(), {"residual", residual});
  // The sum does not depend on weight and bias.
  if (entry == NormEntry::sum) made.inputs.resize(2);
  made.dout = alone.dout.to(residual_dtype);
  const auto inputs = [vectors, traits, eps = shape.eps](std::vector<at::Tensor> all) {
    if (all.size() == 2) all.insert(all.end(), vectors.begin(), vectors.end());
    return NormInputs{all[1], all[2], traits.has_bias ? all[3] : at::Tensor(), eps};
  };
  made.call = [call = ops_of(norm).add_norm, inputs, entry](const std::vector<at::Tensor>& all) {
    const auto [sum, out] = call(all[0], inputs(all));
    return shown(entry, sum, out);
  };
  made.textbook = [inputs, entry, traits](const std::vector<at::Tensor>& all) {
    NormInputs in = inputs(all);
    in.x = all[0] + in.x;
    return shown(entry, in.x, textbook(in, traits.centred));
  };
  made.reference = [residual, in = inputs({residual, alone.inputs[0].tensor}), entry, traits,
                    dout = made.dout] {
    return add_reference(residual, in, entry, traits.centred, dout);
  };
  return made;
}

}  // namespace assay::conformance
