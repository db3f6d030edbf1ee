#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <assay/norm.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "conformance/operation.h"
#include "model/random.h"
#include "reference/reference.h"

namespace assay::conformance {

namespace {

enum class NormLayout { contiguous, transposed, every_second, columns_apart, expanded, shifted };
enum class NormValues { normal, tiny, large, constant, zero, offset, one_large };

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

struct NormShape {
  std::vector<std::int64_t> sizes;  // the last: n_cols
  at::ScalarType dtype = at::kFloat;
  bool wide_weight = false;  // weight and bias in fp32 beside x in fp16 or bf16
  double eps = 1e-5;
  NormLayout layout = NormLayout::contiguous;
  NormValues values = NormValues::normal;

  std::int64_t columns() const { return sizes.back(); }
  std::int64_t elements() const { return c10::multiply_integers(sizes); }
};

std::string text(const NormShape& shape) {
  std::string words =
      fmt::format("x [{}], {}", fmt::join(shape.sizes, ", "), dtype_text(shape.dtype));
  if (shape.wide_weight) words += ", weight in fp32";
  if (shape.eps != 1e-5) words += fmt::format(", eps {:g}", shape.eps);
  if (shape.layout != NormLayout::contiguous) words += fmt::format(", {}", text(shape.layout));
  if (shape.values != NormValues::normal) words += fmt::format(", {}", text(shape.values));
  return words;
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

// The gradient of x is (cancelling terms of dout · weight) / √(mean square + eps).
std::vector<Expected> reference(const NormInputs& in, const at::Tensor& dout, bool centred) {
  const auto leaf = [](const at::Tensor& x) {
    return x.defined() ? x.detach().to(at::kDouble).contiguous().requires_grad_() : x;
  };
  const NormInputs wide = {leaf(in.x), leaf(in.weight), leaf(in.bias), in.eps};
  const auto out = model::reference_norm(wide, centred);
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

struct TestedNorm {
  Shared<NormBoundary> plugin;

  Operation on(const NormShape& shape) const;
};

Operation TestedNorm::on(const NormShape& shape) const {
  NormBoundary& norm = plugin.get();
  bool has_bias = false;
  bool centred = false;
  throw_unless_ok(norm.traits(has_bias, centred));
  const auto device = plugin.device();
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
  made.call = [&norm, inputs](const std::vector<at::Tensor>& all) {
    const NormInputs in = inputs(all);
    std::optional<std::string> reason;
    throw_unless_ok(norm.unsupported(in, reason));
    if (reason) throw Unsupported(*reason);
    at::Tensor out;
    throw_unless_ok(norm.forward(in, out));
    return out;
  };
  made.textbook = [inputs, centred](const std::vector<at::Tensor>& all) {
    return textbook(inputs(all), centred);
  };
  const NormInputs in = {x, weight, has_bias ? made.inputs[2].tensor : at::Tensor(), shape.eps};
  made.reference = [in, dout = made.dout, centred] { return reference(in, dout, centred); };
  return made;
}

Check compared(const TestedNorm& tested, std::string name, std::string sentence,
               std::vector<NormShape> shapes, bool with_gradients = true) {
  std::stable_sort(shapes.begin(), shapes.end(), [](const NormShape& a, const NormShape& b) {
    return a.elements() < b.elements();
  });
  Check check{std::move(name), std::move(sentence), {}};
  for (const NormShape& shape : shapes) {
    check.cases.push_back({text(shape), [tested, shape, with_gradients] {
                             return agrees(tested.on(shape), with_gradients);
                           }});
  }
  return check;
}

// Each shape in every dtype; narrow dtypes also with fp32 weights.
std::vector<NormShape> in_dtypes(const std::vector<NormShape>& shapes) {
  std::vector<NormShape> all;
  for (NormShape shape : shapes) {
    for (const auto dtype : floating_dtypes) {
      shape.dtype = dtype;
      shape.wide_weight = false;
      all.push_back(shape);
      if (dtype != at::kHalf && dtype != at::kBFloat16) continue;
      shape.wide_weight = true;
      all.push_back(shape);
    }
  }
  return all;
}

std::vector<NormShape> widths() {
  std::vector<NormShape> shapes;
  for (const std::int64_t columns :
       {1, 2, 3, 17, 64, 65, 127, 128, 129, 768, 1000, 1031, 4096, 65536}) {
    shapes.push_back({.sizes = {3, columns}});
  }
  return in_dtypes(shapes);
}

std::vector<NormShape> rows() {
  std::vector<NormShape> shapes;
  for (const std::int64_t count : {1, 2, 7, 129, 1000, 4099}) shapes.push_back({{count, 64}});
  shapes.push_back({{5}});
  shapes.push_back({{2, 3, 64}});
  shapes.push_back({{2, 3, 5, 17}});
  return in_dtypes(shapes);
}

std::vector<NormShape> norm_layouts() {
  std::vector<NormShape> shapes;
  for (const std::int64_t columns : {3, 65, 128}) {
    for (const auto layout :
         {NormLayout::transposed, NormLayout::every_second, NormLayout::columns_apart,
          NormLayout::expanded, NormLayout::shifted}) {
      shapes.push_back({.sizes = {4, 5, columns}, .layout = layout});
    }
  }
  return in_dtypes(shapes);
}

std::vector<NormShape> norm_magnitudes() {
  std::vector<NormShape> shapes;
  for (const std::int64_t columns : {4, 64, 129}) {
    for (const auto values : {NormValues::tiny, NormValues::large, NormValues::constant,
                              NormValues::zero, NormValues::offset, NormValues::one_large}) {
      shapes.push_back({.sizes = {7, columns}, .values = values});
    }
  }
  return in_dtypes(shapes);
}

std::vector<NormShape> epsilons() {
  std::vector<NormShape> shapes;
  for (const double eps : {1e-6, 1e-2, 1.0}) shapes.push_back({.sizes = {3, 64}, .eps = eps});
  return in_dtypes(shapes);
}

std::vector<NamedOperation> few_operations(const TestedNorm& tested) {
  std::vector<NamedOperation> operations;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{1, 1}, {3, 17}, {2, 65, 128}}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      const NormShape shape{.sizes = sizes, .dtype = dtype};
      operations.push_back({text(shape), [tested, shape] { return tested.on(shape); }});
    }
  }
  return operations;
}

}  // namespace

std::vector<Check> norm_checks(const Subject& subject) {
  const TestedNorm tested{Shared<NormBoundary>(subject)};
  std::vector<Check> checks = {
      compared(tested, "forward", "The output agrees with float64 at awkward widths.", widths(),
               false),
      compared(tested, "gradients", "The gradients of x, weight and bias agree with float64.",
               widths()),
      compared(tested, "rows", "Any number of rows and of dimensions.", rows()),
      compared(tested, "strides", "Inputs and output gradient with any strides.", norm_layouts()),
      compared(tested, "magnitudes", "Tiny, large and constant values, and a large mean.",
               norm_magnitudes()),
      compared(tested, "eps", "It uses the given eps.", epsilons()),
  };
  for (Check& check : common_operation_checks(few_operations(tested), subject.device())) {
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace assay::conformance
