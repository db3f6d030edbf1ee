#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <assay/reference.h>
#include <assay/workload.h>

namespace {

// a b of two n × n matrices.
class MineProgram final : public assay::Program {
 public:
  explicit MineProgram(const assay::CaseContext& context)
      : n_(assay::integer_option(context.parameters, "n")) {
    const auto options =
        at::TensorOptions().device(context.device).dtype(context.precision.compute());
    a_ = at::ones({n_, n_}, options).tril();
    b_ = at::ones({n_, n_}, options).triu();
  }

  void run(const std::string& pass) override {
    if (pass != "forward") throw std::invalid_argument("there is no pass '" + pass + "'");
    const at::NoGradGuard no_grad;
    out_ = at::matmul(a_, b_);
  }

  std::vector<assay::NamedTensor> outputs(const std::string&) override { return {{"out", out_}}; }

  std::vector<assay::Count> counts(const std::string&) override {
    const auto n = static_cast<double>(n_);
    return {{"flops", "", 2 * n * n * n},
            {"bytes", "", 3 * n * n * static_cast<double>(a_.element_size())}};
  }

  const at::Tensor& a() const { return a_; }
  const at::Tensor& b() const { return b_; }

 private:
  std::int64_t n_;
  at::Tensor a_, b_, out_;
};

class Mine final : public assay::Workload {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {assay::integer_parameter("n", 256, 1, 65536, "Rows and columns of both matrices.")};
  }

  static assay::WorkloadInfo info() {
    assay::WorkloadInfo info;
    info.passes = {"forward"};
    info.default_passes = {"forward"};
    info.uses = {"precision"};
    info.metrics = {{"flops", "FLOP", assay::Direction::neither,
                     "Operations, a multiply-add counted as two.", "2 * n^3"},
                    {"bytes", "byte", assay::Direction::neither,
                     "Both matrices read and one written, once.", "3 * n^2 * element_size"}};
    info.default_clock = "cuda_event";
    return info;
  }

  static std::string memory_estimate() { return "3 * n^2 * element_size"; }

  std::unique_ptr<assay::Program> build(const assay::CaseContext& context) override {
    return std::make_unique<MineProgram>(context);
  }

  assay::Verification verify(const assay::CaseContext& context, const std::string& pass) override {
    MineProgram program(context);
    const auto values = assay::reference::call_once(context, program, pass);
    const auto right = assay::reference::linear(program.a(), program.b().t());
    assay::Verification verification;
    assay::reference::compare_all(verification, values, {{"out", right.out}},
                                  assay::reference::tolerance(context.precision));
    return verification;
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "One product of two square matrices.")
