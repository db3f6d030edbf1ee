#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include <cmath>
#include <stdexcept>

#include "../number_formats/format_record.h"

namespace assay {

namespace {

// The statistics of each row of x, every operation rounded to x's dtype; x: [rows, n_cols].
struct Statistics {
  at::Tensor mean;      // [rows, 1]
  at::Tensor squares;   // [rows, n_cols], of x
  at::Tensor variance;  // [rows, 1]
  at::Tensor rsqrt;     // [rows, 1], 1 / √(variance + eps)
};

// By halves, so that every partial sum is rounded and no device chooses the order. Relative error
// grows with log2(n): Higham 1993, "The Accuracy of Floating Point Summation", section 3.
at::Tensor sum_of_row(at::Tensor x) {
  while (x.size(1) > 1) {
    const std::int64_t n = x.size(1), half = n / 2;
    at::Tensor sums = x.narrow(1, 0, half) + x.narrow(1, n - half, half);
    x = n % 2 == 0 ? sums : at::cat({sums, x.narrow(1, half, 1)}, 1);
  }
  return x;
}

Statistics statistics(const at::Tensor& x, double eps) {
  const auto n = static_cast<double>(x.size(1));
  Statistics found;
  found.mean = sum_of_row(x) / n;
  found.squares = x * x;
  const at::Tensor centred = x - found.mean;
  found.variance = sum_of_row(centred * centred) / n;
  found.rsqrt = at::rsqrt(found.variance + eps);
  return found;
}

struct Part {
  const char* name;
  at::Tensor Statistics::*member;
};
constexpr Part parts[] = {{"mean", &Statistics::mean},
                          {"squares", &Statistics::squares},
                          {"variance", &Statistics::variance},
                          {"rsqrt", &Statistics::rsqrt}};

// The largest |value − right| / |right| over all elements; right is in float64.
double largest_error(const at::Tensor& value, const at::Tensor& right) {
  const at::Tensor size = right.abs();
  const at::Tensor error = (value.to(at::kDouble) - right).abs() / size;
  return at::where(size > 0, error, at::zeros_like(error)).max().item<double>();
}

const NumberFormat& format_of(at::ScalarType dtype) {
  const std::string name = dtype == at::kHalf ? "fp16" : dtype == at::kBFloat16 ? "bf16" : "fp32";
  for (const NumberFormat& format : number_formats()) {
    if (format.name == name) return format;
  }
  throw std::logic_error("no format " + name);
}

class SensitivityProgram final : public Program {
 public:
  explicit SensitivityProgram(const CaseContext& context)
      : eps_(real_option(context.parameters, "eps")), format_(format_of(compute(context))) {
    const auto generator = reference::seeded_generator(context.device, context.seed);
    const double magnitude = real_option(context.parameters, "magnitude");
    const at::Tensor drawn = at::randn(
        {integer_option(context.parameters, "rows"), integer_option(context.parameters, "n_cols")},
        generator, at::TensorOptions().device(context.device));
    x_ = ((drawn + 1) * magnitude).to(compute(context));
  }

  void run(const std::string& pass) override {
    if (pass != "statistics") throw std::invalid_argument("no pass '" + pass + "'");
    found_ = statistics(x_, eps_);
  }

  std::vector<NamedTensor> outputs(const std::string&) override {
    std::vector<NamedTensor> outputs = {{"x", x_}};
    for (const auto& [name, member] : parts) outputs.push_back({name, found_.*member});
    return outputs;
  }

  void record(const std::string&, Recorder& recorder) override {
    const Statistics right = statistics(x_.to(at::kDouble), eps_);
    for (const auto& [name, member] : parts) record(recorder, name, found_.*member, right.*member);
    record_format(recorder, "", format_);
  }

 private:
  static at::ScalarType compute(const CaseContext& context) { return context.precision.compute(); }

  // Without an error where a value has left the range: the word says which end.
  void record(Recorder& recorder, const char* part, const at::Tensor& value,
              const at::Tensor& right) const {
    const std::string range = range_of(part, value, right);
    recorder.word("range", part, range);
    if (range != "overflows") recorder.sample("error", part, largest_error(value, right));
  }

  std::string range_of(const std::string& part, const at::Tensor& value,
                       const at::Tensor& right) const {
    const bool finite = value.isfinite().all().item<bool>();
    // rsqrt of an infinite variance is 0.
    const bool lost = part == "rsqrt" && !found_.variance.isfinite().all().item<bool>();
    if (!finite || lost) return "overflows";
    const at::Tensor sizes = value.abs().to(at::kDouble);
    if (sizes.eq(0).logical_and(right.ne(0)).any().item<bool>()) return "underflows";
    const at::Tensor low = sizes.lt(format_.smallest_normal).logical_and(right.ne(0));
    return low.any().item<bool>() ? "subnormal" : "fits";
  }

  double eps_;
  const NumberFormat& format_;
  at::Tensor x_;
  Statistics found_;
};

class NormSensitivity final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("n_cols", 1024, 1, 1 << 20, "Elements of a row."),
        integer_parameter("rows", 64, 1, 1 << 20, "Rows; errors are the largest of all."),
        real_parameter("magnitude", 1, 1e-30, 1e30, "Mean and standard deviation of the elements."),
        real_parameter("eps", 1e-5, 0, 1, "What is added to the variance.")};
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"statistics"};
    info.default_passes = info.passes;
    info.unclocked = info.passes;
    info.uses = {"precision"};
    info.metrics = format_metrics();
    info.metrics.push_back(
        {"error", "", Direction::lower_is_better,
         "Largest relative error of a norm's statistic, every operation rounded to the format, "
         "against float64 of the same elements.",
         "max |value - reference| / |reference|"});
    info.metrics.push_back(
        {"range",
         "",
         Direction::neither,
         "Whether all values of the statistic fit, are subnormal, underflow or overflow.",
         {},
         MetricKind::text});
    return info;
  }

  // x, its centred values, two squares and the reference's in float64.
  static std::string memory_estimate() { return "rows * n_cols * (5 * element_size + 40)"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<SensitivityProgram>(context);
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::NormSensitivity, "norm_sensitivity",
             "Mean, variance, squares and rsqrt of a norm, computed in one format throughout.")
