#include "conformance/operation.h"

#include <ATen/core/grad_mode.h>
#include <assay/reference.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "conformance/memory.h"
#include "measure/device.h"

#ifdef ASSAY_WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace assay::conformance {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t poisoned_bytes = std::int64_t{256} << 20;

// "out", and on request every input's gradient, undefined where missing.
std::vector<at::Tensor> evaluate(const Operation& operation, const Operation::Call& call,
                                 bool with_gradients) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : operation.inputs) {
    leaves.push_back(input.tensor.detach().requires_grad_(with_gradients));
  }
  if (!with_gradients) {
    const at::NoGradGuard no_grad;
    return {call(leaves)};
  }
  at::Tensor out = call(leaves);
  if (!out.defined() || !out.requires_grad()) {
    throw std::runtime_error("autograd finds no path from the output to the inputs");
  }
  if (out.sizes() != operation.dout.sizes()) {
    throw std::runtime_error(
        fmt::format("out has the shape [{}]", fmt::join(out.sizes().vec(), ", ")));
  }
  std::vector<at::Tensor> results = {out.detach()};
  for (auto& gradient : torch::autograd::grad({out}, leaves, {operation.dout}, std::nullopt,
                                              /*create_graph=*/false, /*allow_unused=*/true)) {
    results.push_back(std::move(gradient));
  }
  return results;
}

std::string index_text(const at::Tensor& tensor, std::int64_t flat) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim()));
  for (std::int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = flat % tensor.size(axis);
    flat /= tensor.size(axis);
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

// Elementwise equality in which NaN equals NaN.
at::Tensor alike(const at::Tensor& a, const at::Tensor& b) {
  return a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
}

// Where the value is farthest from the expected one. NaN in only one of the two counts as farthest.
std::string farthest(const at::Tensor& value, const at::Tensor& expected) {
  const auto wide = value.detach().to(at::kDouble);
  const auto distance =
      (wide - expected).abs().nan_to_num(infinity).masked_fill(alike(wide, expected), 0).flatten();
  const auto flat = distance.argmax().item<std::int64_t>();
  return fmt::format("at {} it is {:.6g} and should be {:.6g}", index_text(value, flat),
                     wide.flatten()[flat].item<double>(), expected.flatten()[flat].item<double>());
}

std::string compare_bits(const std::vector<Expected>& names, const std::vector<at::Tensor>& first,
                         const std::vector<at::Tensor>& second, std::size_t i) {
  if (alike(first[i], second[i]).all().item<bool>()) return {};
  return fmt::format("two calls on the same inputs give different {}: {}", names[i].name,
                     farthest(second[i], first[i].to(at::kDouble)));
}

}  // namespace

std::string dtype_text(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return "fp32";
    case at::kHalf:
      return "fp16";
    case at::kBFloat16:
      return "bf16";
    case at::kDouble:
      return "fp64";
    default:
      return c10::toString(dtype);
  }
}

double dtype_tolerance(at::ScalarType dtype) {
  PrecisionPolicy policy;
  policy.parameters = dtype;
  return reference::tolerance(policy);
}

// Below 1, so that a result of all zeros fails however bad the textbook is.
constexpr double largest_excuse = 0.5;

double root_mean_square(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).square().mean().sqrt().item<double>();
}

// fp16 has steps of 2⁻²⁴ around 0, and rounding to them is no fault. This floor makes half a step
// equal the tolerance.
double step_floor(at::ScalarType dtype) {
  return dtype == at::kHalf ? std::ldexp(0.5, -24) / dtype_tolerance(dtype) : 0;
}

double relative_error(const at::Tensor& value, const Expected& expected) {
  const double floor = std::max(expected.floor, step_floor(value.scalar_type()));
  return reference::deviation(value, expected.value, floor).larger();
}

void compare(CheckVerdict& verdict, const Expected& expected, const at::Tensor& value,
             double allowed) {
  std::string complaint;
  double error = infinity;
  if (!value.defined()) {
    complaint = expected.name + " is missing";
  } else if (value.sizes() != expected.value.sizes()) {
    complaint = fmt::format("{} has the shape [{}] and should have [{}]", expected.name,
                            fmt::join(value.sizes().vec(), ", "),
                            fmt::join(expected.value.sizes().vec(), ", "));
  } else {
    error = relative_error(value, expected);
    if (!(error <= allowed)) {
      complaint = std::isfinite(error) ? fmt::format("{} is off by {:.2g}, more than {:.2g}",
                                                     expected.name, error, allowed)
                                       : expected.name + " is not finite";
      complaint += "; " + farthest(value, expected.value);
    }
  }
  const bool worse = error * verdict.tolerance > verdict.error * allowed;
  if (verdict.tolerance <= 0 || worse) {
    verdict.error = error;
    verdict.tolerance = allowed;
    if (!complaint.empty()) verdict.complaint = complaint;
  }
}

CheckVerdict agrees(const Operation& operation, bool with_gradients) {
  // Computed first, since the call might change its inputs.
  const std::vector<Expected> expected = operation.reference();
  const auto values = evaluate(operation, operation.call, with_gradients);
  std::vector<at::Tensor> textbook;  // computed on demand
  CheckVerdict verdict;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double allowed = i == 0 ? operation.tolerance : 2 * operation.tolerance;
    const bool comparable = values[i].defined() && values[i].sizes() == expected[i].value.sizes();
    if (comparable && !(relative_error(values[i], expected[i]) <= allowed)) {
      if (textbook.empty()) textbook = evaluate(operation, operation.textbook, with_gradients);
      const double excuse = 2 * relative_error(textbook[i], expected[i]);
      if (std::isfinite(excuse)) allowed = std::max(allowed, std::min(excuse, largest_excuse));
    }
    compare(verdict, expected[i], values[i], allowed);
  }
  return verdict;
}

CheckVerdict repeats(const Operation& operation) {
  CheckVerdict verdict;
  const std::vector<Expected> expected = operation.reference();
  const auto out = evaluate(operation, operation.call, false);
  verdict.complaint = compare_bits(expected, out, evaluate(operation, operation.call, false), 0);
  if (!verdict.complaint.empty()) return verdict;

  std::vector<at::Tensor> first, second;
  const Status differentiable = guarded([&] {
    first = evaluate(operation, operation.call, true);
    second = evaluate(operation, operation.call, true);
  });
  if (differentiable.outcome == Outcome::unsupported) return verdict;
  throw_unless_ok(differentiable);
  for (std::size_t i = 1; i < first.size(); ++i) {
    if (!first[i].defined() || !second[i].defined()) continue;
    const std::string difference = compare_bits(expected, first, second, i);
    if (difference.empty()) continue;
    const Expected once = {expected[i].name, first[i].to(at::kDouble), expected[i].floor};
    const bool within = relative_error(second[i], once) <= 2 * operation.tolerance;
    (within ? verdict.note : verdict.complaint) = difference;
  }
  return verdict;
}

CheckVerdict leaves_inputs_alone(const Operation& operation) {
  std::vector<at::Tensor> copies;
  for (const auto& input : operation.inputs) copies.push_back(input.tensor.clone());
  const auto dout = operation.dout.clone();
  evaluate(operation, operation.call, false);
  const auto check = [&]() -> std::string {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (!copies[i].equal(operation.inputs[i].tensor)) {
        return "its call changed the input " + operation.inputs[i].name;
      }
    }
    return dout.equal(operation.dout) ? "" : "its backward changed the gradient it was given";
  };
  CheckVerdict verdict{.complaint = check()};
  if (!verdict.complaint.empty()) return verdict;
  const Status status = guarded([&] { evaluate(operation, operation.call, true); });
  if (status.outcome != Outcome::unsupported) throw_unless_ok(status);
  verdict.complaint = check();
  return verdict;
}

CheckVerdict well_formed(const Operation& operation, at::IntArrayRef sizes) {
  const auto out = evaluate(operation, operation.call, false)[0];
  if (!out.defined()) return {.complaint = "it returned no tensor"};
  const auto& like = operation.dout;
  if (out.sizes() != sizes) {
    return {.complaint =
                fmt::format("out has the shape [{}] and should have [{}]",
                            fmt::join(out.sizes().vec(), ", "), fmt::join(sizes.vec(), ", "))};
  }
  if (out.scalar_type() != like.scalar_type()) {
    return {.complaint =
                fmt::format("out is in {} and should be in {}", dtype_text(out.scalar_type()),
                            dtype_text(like.scalar_type()))};
  }
  if (out.device() != like.device()) {
    return {.complaint = fmt::format("out is on {} and should be on {}", out.device().str(),
                                     like.device().str())};
  }
  if (!out.isfinite().all().item<bool>()) return {.complaint = "out holds NaN or infinity"};
  return {};
}

CheckVerdict same_without_gradients(const Operation& operation) {
  std::vector<at::Tensor> inputs;
  for (const auto& input : operation.inputs) inputs.push_back(input.tensor.detach());
  const auto plain = operation.call(inputs);
  if (plain.requires_grad()) {
    return {.complaint = "out requires a gradient though no input does"};
  }
  CheckVerdict verdict;
  const std::vector<Expected> expected = operation.reference();
  compare(verdict, expected[0], plain, operation.tolerance);
  compare(verdict, expected[0], evaluate(operation, operation.call, false)[0], operation.tolerance);
  return verdict;
}

CheckVerdict agrees_on_poisoned_memory(const Operation& operation) {
  const auto device = operation.dout.device();
  CheckVerdict verdict;
  {
    const reference::PoisonedMemory poisoned(device, poisoned_bytes);
    verdict = agrees(operation, false);
  }
  if (!verdict.complaint.empty()) return verdict;
  const reference::PoisonedMemory poisoned(device, poisoned_bytes);
  const Status status = guarded([&] { verdict = agrees(operation, true); });
  if (status.outcome != Outcome::unsupported) throw_unless_ok(status);
  return verdict;
}

CheckVerdict frees_memory(const Operation& operation) {
  return frees_memory(operation.dout.device(), [&] {
    evaluate(operation, operation.call, false);
    const Status status = guarded([&] { evaluate(operation, operation.call, true); });
    if (status.outcome != Outcome::unsupported) throw_unless_ok(status);
  });
}

#ifdef ASSAY_WITH_CUDA
CheckVerdict agrees_on_another_stream(const std::function<Operation()>& make,
                                      const at::Device& device) {
  if (!device.is_cuda()) throw Unsupported("streams need a CUDA device");
  // Keeps the stream busy for some milliseconds, which exposes work that does not wait for it.
  const auto busy = at::ones({4096, 4096}, at::TensorOptions().device(device));
  const auto source = make();
  measure::synchronize(device);
  CheckVerdict verdict;
  {
    const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool(false, device.index()));
    Operation operation = source;
    for (auto& input : operation.inputs) input.tensor = at::zeros_like(input.tensor);
    operation.dout = at::zeros_like(source.dout);
    measure::synchronize(device);
    for (int i = 0; i < 20; ++i) at::mm(busy, busy);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      operation.inputs[i].tensor.copy_(source.inputs[i].tensor);
    }
    operation.dout.copy_(source.dout);
    std::vector<at::Tensor> values;
    const Status differentiable =
        guarded([&] { values = evaluate(operation, operation.call, true); });
    if (differentiable.outcome == Outcome::unsupported) {
      values = evaluate(operation, operation.call, false);
    } else {
      throw_unless_ok(differentiable);
    }
    measure::synchronize(device);
    const std::vector<Expected> expected = source.reference();
    for (std::size_t i = 0; i < values.size(); ++i) {
      compare(verdict, expected[i], values[i], 4 * operation.tolerance);
    }
  }
  measure::synchronize(device);
  return verdict;
}
#else
CheckVerdict agrees_on_another_stream(const std::function<Operation()>&, const at::Device&) {
  throw Unsupported("streams need a CUDA device");
}
#endif

std::vector<Check> common_operation_checks(const std::vector<NamedOperation>& operations,
                                           const at::Device& device) {
  const auto over =
      [&](std::string name, std::string sentence,
          const std::function<CheckVerdict(const std::function<Operation()>&)>& judge) {
        Check check{std::move(name), std::move(sentence), {}};
        for (const auto& [text, make] : operations) {
          check.cases.push_back({text, [judge, make = make] { return judge(make); }});
        }
        return check;
      };
  return {
      over("output", "The output has the shape, dtype and device of its input and is finite.",
           [](const auto& make) {
             const Operation operation = make();
             return well_formed(operation, operation.dout.sizes());
           }),
      over("determinism", "Two calls on the same inputs give the same bits.",
           [](const auto& make) { return repeats(make()); }),
      over("inputs_unchanged", "Neither call nor backward changes its inputs.",
           [](const auto& make) { return leaves_inputs_alone(make()); }),
      over("without_gradients", "Without gradients it gives the same output and records no graph.",
           [](const auto& make) { return same_without_gradients(make()); }),
      over("unwritten_memory", "No result depends on unwritten memory.",
           [](const auto& make) { return agrees_on_poisoned_memory(make()); }),
      over("memory", "Repeated calls leave no memory allocated.",
           [](const auto& make) { return frees_memory(make()); }),
      over("stream", "It runs on the current CUDA stream, its backward too.",
           [device](const auto& make) { return agrees_on_another_stream(make, device); }),
  };
}

}  // namespace assay::conformance
