#include <fmt/format.h>

#include <algorithm>

#include "conformance/norm_operation.h"

namespace assay::conformance {

namespace {

struct TestedNorm {
  Shared<NormBoundary> plugin;

  Operation on(const NormShape& shape) const {
    return norm_operation(plugin.get(), shape, plugin.device());
  }
  // Of the entry with a residual.
  Operation on(const NormShape& shape, NormEntry entry) const {
    return add_norm_operation(plugin.get(), shape, entry, plugin.device());
  }
};

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
  for (const std::int64_t columns : {4, 64, 129, 1600}) {
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

// Of every entry's results, in every dtype, the residual also in fp32 beside a narrow x.
Check with_residuals(const TestedNorm& tested) {
  std::vector<NormShape> shapes =
      in_dtypes({{.sizes = {1, 1}},
                 {.sizes = {3, 17}},
                 {.sizes = {7, 129}, .layout = NormLayout::every_second},
                 {.sizes = {2, 5, 64}, .layout = NormLayout::transposed},
                 {.sizes = {2, 3, 1000}},
                 {.sizes = {5, 64}, .values = NormValues::large}});
  for (std::size_t i = 0, count = shapes.size(); i < count; ++i) {
    if (!shapes[i].wide_weight) continue;
    shapes.push_back(shapes[i]);
    shapes.back().wide_residual = true;
  }
  Check check{
      "residual", "Its entry with a residual gives sum, norm and gradients as float64 does.", {}};
  for (const NormShape& shape : shapes) {
    for (const NormEntry entry : {NormEntry::sum, NormEntry::out, NormEntry::both}) {
      check.cases.push_back(
          {fmt::format("{}, {}", text(shape), text(entry)),
           [tested, shape, entry] { return agrees(tested.on(shape, entry), true); }});
    }
  }
  return check;
}

std::vector<NamedOperation> few_operations(const TestedNorm& tested) {
  std::vector<NamedOperation> operations;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{1, 1}, {3, 17}, {2, 65, 128}}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      const NormShape shape{.sizes = sizes, .dtype = dtype};
      operations.push_back({text(shape), [tested, shape] { return tested.on(shape); }});
      operations.push_back({fmt::format("{}, {}", text(shape), text(NormEntry::both)),
                            [tested, shape] { return tested.on(shape, NormEntry::both); }});
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
      with_residuals(tested),
  };
  for (Check& check : common_operation_checks(few_operations(tested), subject.device())) {
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace assay::conformance
