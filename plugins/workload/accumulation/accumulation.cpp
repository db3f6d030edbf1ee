#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <assay/workload.h>

#include <cmath>
#include <stdexcept>

namespace assay {

namespace {

struct Kind {
  const char* part;
  at::ScalarType accumulator;
  at::ScalarType addend;
  bool widened;  // the addend is made fp32 by an operation of its own
};

constexpr Kind kinds[] = {{"fp32", at::kFloat, at::kFloat, false},
                          {"fp16", at::kHalf, at::kHalf, false},
                          {"fp32 += fp16", at::kFloat, at::kHalf, false},
                          {"fp32 += fp32(fp16)", at::kFloat, at::kHalf, true},
                          {"bf16", at::kBFloat16, at::kBFloat16, false},
                          {"fp32 += bf16", at::kFloat, at::kBFloat16, false},
                          {"fp32 += fp32(bf16)", at::kFloat, at::kBFloat16, true}};

// Adds one term at a time, each sum rounded to the accumulator's format.
class AccumulationProgram final : public Program {
 public:
  explicit AccumulationProgram(const CaseContext& context)
      : device_(context.device),
        terms_(integer_option(context.parameters, "terms")),
        addend_(real_option(context.parameters, "addend")) {}

  void run(const std::string& pass) override {
    if (pass != "sum") throw std::invalid_argument("no pass '" + pass + "'");
    sums_.clear();
    for (const Kind& kind : kinds) sums_.push_back({kind.part, sum_of(kind)});
  }

  std::vector<NamedTensor> outputs(const std::string&) override { return sums_; }

  void record(const std::string&, Recorder& recorder) override {
    const double expected = static_cast<double>(terms_) * addend_;
    for (const NamedTensor& sum : sums_) {
      const double result = sum.tensor.item<double>();
      recorder.sample("result", sum.name, result);
      recorder.sample("error", sum.name, std::abs(result - expected));
    }
  }

 private:
  at::Tensor sum_of(const Kind& kind) const {
    const auto options = at::TensorOptions().device(device_);
    const at::Tensor addend = at::full({}, addend_, options.dtype(kind.addend));
    at::Tensor sum = at::zeros({}, options.dtype(kind.accumulator));
    for (std::int64_t i = 0; i < terms_; ++i) {
      sum.add_(kind.widened ? addend.to(kind.accumulator) : addend);
    }
    return sum;
  }

  at::Device device_;
  std::int64_t terms_;
  double addend_;
  std::vector<NamedTensor> sums_;
};

class Accumulation final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {integer_parameter("terms", 1000, 1, 1e7, "Terms of the sum."),
            // Ten million of the largest stay within fp16's range; of smaller ones more do.
            real_parameter("addend", 0.01, 1e-30, 1e3, "Each term, before it is rounded.")};
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"sum"};
    info.default_passes = info.passes;
    info.unclocked = info.passes;
    info.metrics = {
        {"result", "", Direction::neither,
         "The sum, term by term, by the formats of accumulator and addend."},
        {"error", "", Direction::lower_is_better, "How far the sum is from terms * addend.",
         "|result - terms * addend|, in float64"}};
    return info;
  }

  static std::string memory_estimate() { return "64"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<AccumulationProgram>(context);
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::Accumulation, "accumulation",
             "A sum of equal terms, one by one, in several formats.")
