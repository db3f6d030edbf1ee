#include "worker/looks/output_check.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/operation_program.h"
#include "model/random.h"

namespace assay::worker {

namespace {

constexpr std::int64_t most_elements = 4096;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Offset in memory, in elements, of the element with this row-major index.
std::int64_t offset_of(std::int64_t index, const at::Tensor& tensor) {
  std::int64_t offset = 0;
  for (std::int64_t d = tensor.dim() - 1; d >= 0; --d) {
    offset += index % tensor.size(d) * tensor.stride(d);
    index /= tensor.size(d);
  }
  return offset;
}

// The same elements for every tensor of a size, whatever its layout: their offsets in its memory.
at::Tensor places_in(const at::Tensor& tensor) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  auto places = at::randint(
      0, tensor.numel(), {most_elements},
      model::seeded_generator(at::kCPU, static_cast<std::uint64_t>(tensor.numel())), options);
  auto* place = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < most_elements; ++i) place[i] = offset_of(place[i], tensor);
  return places;
}

// Copies nothing large.
at::Tensor sampled_elements(const at::Tensor& tensor, SampledPlaces& known) {
  if (tensor.numel() <= most_elements) return tensor.reshape({-1});
  at::Tensor& places = known[{tensor.sizes().vec(), tensor.strides().vec()}];
  if (!places.defined()) places = places_in(tensor);
  const auto memory = tensor.as_strided({offset_of(tensor.numel() - 1, tensor) + 1}, {1});
  return memory.index_select(0, places.to(tensor.device(), /*non_blocking=*/true));
}

std::vector<double> in_host_memory(const at::Tensor& tensor) {
  const auto values = tensor.to(at::kCPU).to(at::kDouble).contiguous();
  const double* begin = values.const_data_ptr<double>();
  return {begin, begin + values.numel()};
}

OutputSummary without_values(const NamedTensor& output) {
  OutputSummary summary;
  summary.name = output.name;
  summary.sizes = output.tensor.sizes().vec();
  summary.bytes = static_cast<std::int64_t>(output.tensor.nbytes());
  return summary;
}

// Relative to `scale`; absolute where that is 0.
double relative_distance(double distance, double scale) {
  if (!std::isfinite(distance)) return infinity;
  return scale > 0 ? distance / scale : distance;
}

double change_between(const OutputSummary& first, const OutputSummary& later) {
  double squares = 0;
  double scale = 0;
  for (std::size_t i = 0; i < first.elements.size(); ++i) {
    const double difference = later.elements[i] - first.elements[i];
    squares += difference * difference;
    scale += first.elements[i] * first.elements[i];
  }
  return std::max(relative_distance(std::sqrt(squares), std::sqrt(scale)),
                  relative_distance(std::abs(later.norm - first.norm), first.norm));
}

}  // namespace

at::Tensor norm_of(const at::Tensor& tensor) {
  const bool narrow = tensor.element_size() < 4;
  const auto dtype = narrow ? at::kFloat : tensor.scalar_type();
  return at::linalg_vector_norm(tensor, 2, at::OptionalIntArrayRef{}, /*keepdim=*/false, dtype)
      .to(at::kDouble);
}

std::string not_allowed(const std::string& output, double norm, const std::string& pass,
                        bool loss_scaling) {
  if (std::isfinite(norm)) return {};
  const bool gradient = output.starts_with("grad.");
  if (gradient && loss_scaling) return {};
  if (std::isnan(norm)) return "holds NaN";
  return gradient && pass == "train_step" ? "" : "holds infinity";
}

std::vector<OutputSummary> summarise_outputs(ProgramBoundary& program, const std::string& pass,
                                             SampledPlaces& known) {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program.outputs(pass, outputs));
  std::vector<OutputSummary> summaries;
  std::vector<at::Tensor> numbers;  // of each output its norm, then its elements
  for (const NamedTensor& output : outputs) {
    if (!output.tensor.defined()) {
      throw PluginFailure({Outcome::wrong, output.name + " is an undefined tensor"});
    }
    model::require_plain(output);
    summaries.push_back(without_values(output));
    const at::Tensor tensor = output.tensor.detach();
    const bool real = at::isFloatingType(tensor.scalar_type());
    const auto norm = real ? norm_of(tensor) : tensor.new_zeros({}, at::kDouble);
    numbers.push_back(norm.view({1}));
    numbers.push_back(sampled_elements(tensor, known).to(at::kDouble));
  }
  if (numbers.empty()) return summaries;
  // Each transfer of its own would wait for the device: a model has hundreds of gradients.
  const auto values = in_host_memory(at::cat(numbers));
  auto next = values.begin();
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].norm = *next++;
    const auto end = next + numbers[2 * i + 1].numel();
    summaries[i].elements.assign(next, end);
    next = end;
  }
  return summaries;
}

OutputCheck::OutputCheck(std::string pass, const PrecisionPolicy& precision, double tolerance)
    : pass_(std::move(pass)),
      repeats_(pass_ != "train_step"),
      loss_scaling_(precision.loss_scaling),
      tolerance_(tolerance) {}

void OutputCheck::look(ProgramBoundary& program) {
  last_ = summarise_outputs(program, pass_, places_);
  ++looks_;
  for (const OutputSummary& output : last_) {
    const std::string held = not_allowed(output.name, output.norm, pass_, loss_scaling_);
    if (!held.empty()) found(output.name + " " + held);
  }
  if (looks_ == 1) {
    first_ = last_;
    return;
  }
  if (!repeats_) return;
  for (const OutputSummary& first : first_) {
    const auto later = std::find_if(last_.begin(), last_.end(), [&](const OutputSummary& output) {
      return output.name == first.name;
    });
    if (later == last_.end()) {
      found(fmt::format("a call left no {}, but the first one did", first.name));
    } else {
      compare(first, *later);
    }
  }
}

void OutputCheck::compare(const OutputSummary& first, const OutputSummary& later) {
  if (first.sizes != later.sizes) {
    found(fmt::format("{} has another shape than after the first call", first.name));
    return;
  }
  if (!std::isfinite(first.norm) || !std::isfinite(later.norm)) return;
  const double change = change_between(first, later);
  change_ = std::max(change_, change);
  if (change <= tolerance_) return;
  found(fmt::format("{} changed from call to call by {:.3g}, more than {:.3g}", first.name, change,
                    tolerance_));
}

void OutputCheck::found(std::string reason) {
  if (status_.ok()) status_ = {Outcome::wrong, "after timing: " + std::move(reason)};
}

std::int64_t OutputCheck::bytes() const {
  std::int64_t bytes = 0;
  for (const OutputSummary& output : last_) bytes += output.bytes;
  return bytes;
}

store::RepeatedOutputs OutputCheck::facts() const {
  store::RepeatedOutputs facts = {looks_, std::ssize(last_), {}, {}};
  if (repeats_ && !last_.empty()) {
    facts.change = change_;
    facts.tolerance = tolerance_;
  }
  return facts;
}

}  // namespace assay::worker
