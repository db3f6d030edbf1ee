#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <assay/workload.h>
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "model/numeric_modes.h"
#include "model/operation_program.h"
#include "model/random.h"

namespace assay {

namespace {

struct Shape {
  std::int64_t m, n, k;
};

// Shape::n and Shape::k in an expression.
constexpr std::string_view columns = "if(n == 0, m, n)";
constexpr std::string_view depth = "if(k == 0, m, k)";

Shape shape_of(const CaseContext& context) {
  const auto given = [&](const char* name, std::int64_t otherwise) {
    const auto value = integer_option(context.parameters, name);
    return value == 0 ? otherwise : value;
  };
  const auto m = integer_option(context.parameters, "m");
  return {m, given("n", m), given("k", m)};
}

PrecisionPolicy policy_of(const CaseContext& context) {
  const auto dtype = text_option(context.parameters, "dtype");
  PrecisionPolicy policy;
  policy.tf32 = dtype == "tf32";
  policy.parameters = dtype == "fp64"   ? at::kDouble
                      : dtype == "bf16" ? at::kBFloat16
                      : dtype == "fp16" ? at::kHalf
                                        : at::kFloat;
  return policy;
}

// Compares 64 rows of 1024 columns of c, drawn from the seed.
Verification compare_sample(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c,
                            double tolerance, const Look& look) {
  const auto rows = reference::drawn_below(a.size(0), 64, look.seed);
  const auto columns = reference::drawn_below(b.size(0), 1024, look.seed + 1);
  const auto take = [&](const at::Tensor& tensor, const at::Tensor& places) {
    return tensor.index_select(0, places.to(tensor.device())).to(look.device);
  };
  const auto of_a = take(a, rows);
  const auto of_b = take(b, columns);
  Verification verification;
  reference::compare_beside(verification, "c (a sample)",
                            take(c, rows).index_select(1, columns.to(look.device)),
                            reference::linear(of_a, of_b).out, at::mm(of_a, of_b.t()), tolerance);
  return verification;
}

// The process's modes are those of a policy while this lives.
class NumericModes {
 public:
  NumericModes(const PrecisionPolicy& policy, const at::Device& device)
      : blas_(at::globalContext().allowTF32CuBLAS()), dnn_(at::globalContext().allowTF32CuDNN()) {
    model::set_numeric_modes(policy, device);
  }
  ~NumericModes() {
    at::globalContext().setAllowTF32CuBLAS(blas_);
    at::globalContext().setAllowTF32CuDNN(dnn_);
  }
  NumericModes(const NumericModes&) = delete;
  NumericModes& operator=(const NumericModes&) = delete;

 private:
  bool blas_;
  bool dnn_;
};

// c = a bᵀ, the product of a linear layer.
class MatmulProgram final : public Program {
 public:
  explicit MatmulProgram(const CaseContext& context)
      : shape_(shape_of(context)), modes_(policy_of(context), context.device) {
    const auto policy = policy_of(context);
    tolerance_ = reference::tolerance(policy);
    const auto generator = model::seeded_generator(context.device, context.seed);
    const auto drawn = [&](std::int64_t rows) {
      return at::randn({rows, shape_.k}, generator, at::TensorOptions().device(context.device))
          .to(policy.parameters);
    };
    a_ = drawn(shape_.m);
    b_ = drawn(shape_.n);
    c_ = at::empty({shape_.m, shape_.n}, a_.options());
  }

  void run(const std::string& pass) override {
    if (pass != "matmul") throw std::invalid_argument("matmul has no pass '" + pass + "'");
    at::mm_out(c_, a_, b_.t());
  }

  std::vector<NamedTensor> outputs(const std::string&) override { return {{"c", c_}}; }

  std::vector<Count> counts(const std::string&) override {
    const double products = static_cast<double>(shape_.m) * static_cast<double>(shape_.n) *
                            static_cast<double>(shape_.k);
    return {{"flops", "", 2 * products},
            {"bytes", "", static_cast<double>(a_.nbytes() + b_.nbytes() + c_.nbytes())}};
  }

  std::vector<ProgramInput> inputs(const std::string&) override {
    return {{.name = "a", .tensor = a_}, {.name = "b", .tensor = b_}};
  }
  bool writes_outputs_anew(const std::string&) override { return true; }
  Verification look(const std::string&, const Look& look) override {
    return compare_sample(a_, b_, c_, tolerance_, look);
  }

  const at::Tensor& a() const { return a_; }
  const at::Tensor& b() const { return b_; }

 private:
  double tolerance_ = 0;
  Shape shape_;
  NumericModes modes_;
  at::Tensor a_;  // [m, k]
  at::Tensor b_;  // [n, k]
  at::Tensor c_;  // [m, n]
};

ParameterInfo dimension(const char* name, std::int64_t default_value, double minimum,
                        const char* description) {
  return integer_parameter(name, default_value, minimum, 1 << 20, description);
}

class Matmul final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        dimension("m", 1024, 1, "Rows of the result."),
        dimension("n", 0, 0, "Columns of the result; 0: as many as rows."),
        dimension("k", 0, 0, "Products summed for each element; 0: as many as rows."),
        choice_parameter("dtype", "fp32", {"fp64", "fp32", "tf32", "bf16", "fp16"},
                         "Type of the matrices; tf32: fp32 multiplied in TF32, on a GPU."),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"matmul"};
    info.default_passes = {"matmul"};
    info.metrics = {
        {"flops", "FLOP", Direction::neither,
         "Operations of the product, a multiply-add counted as two.",
         fmt::format("2 * m * {} * {}", columns, depth)},
        {"bytes", "byte", Direction::neither, "Size of the three matrices, each counted once.",
         memory_estimate()},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  static std::string memory_estimate() {
    return fmt::format(
        "(m * {1} + {0} * {1} + m * {0}) * "
        "if(dtype == fp64, 8, if(dtype == bf16 || dtype == fp16, 2, 4))",
        columns, depth);
  }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<MatmulProgram>(context);
  }

  // Every element must be written; all rows are compared up to 4096, above that 64 drawn after the
  // call.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto shape = shape_of(context);
    const reference::PoisonedMemory poisoned(
        context.device, shape.m * shape.n * static_cast<std::int64_t>(sizeof(double)));
    auto program = std::make_unique<MatmulProgram>(context);
    const at::Tensor a = program->a();
    const at::Tensor b = program->b();
    const at::Tensor c = reference::call_once(context, *program, pass).at(0).tensor;

    Verification verification;
    const double tolerance = reference::tolerance(policy_of(context));
    if (const std::string remark = reference::not_finite(c); !remark.empty()) {
      return {true, std::numeric_limits<double>::infinity(), tolerance, "c, which " + remark + ","};
    }
    const auto rows = reference::rows_to_check(shape.m, reference::fresh_seed()).to(context.device);
    const auto right = reference::linear(a.index_select(0, rows), b).out;
    reference::compare(verification, "c", c.index_select(0, rows), right, tolerance);
    if (verification.error > verification.tolerance) return verification;
    const auto sampled =
        compare_sample(a, b, c, tolerance, {reference::fresh_seed(), context.device});
    return sampled.error > sampled.tolerance ? sampled : verification;
    return verification;
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(
    assay::Matmul, "matmul",
    "One product of two matrices, on a GPU by cuBLAS: the arithmetic rate that can be reached.")
