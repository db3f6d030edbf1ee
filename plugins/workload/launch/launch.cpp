#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include <cmath>
#include <stdexcept>

#include "model/operation_program.h"

#if ASSAY_WITH_KERNEL
#include "empty_kernel.h"
#endif

namespace assay {

namespace {

void launch_kernel(const at::Device& device) {
#if ASSAY_WITH_KERNEL
  static_cast<void>(device);
  launch_empty_kernel();
#else
  throw Unsupported("this build has no kernels (device " + device.str() +
                    "): it was made without nvcc");
#endif
}

// Many launches of empty work. Operations add 1 to a number that verification reads; launches of an
// empty kernel, which leaves no result, are counted.
class LaunchProgram final : public Program {
 public:
  explicit LaunchProgram(const CaseContext& context)
      : device_(context.device),
        launches_(integer_option(context.parameters, "launches")),
        kernels_(text_option(context.parameters, "operation") == "kernel"),
        done_(at::zeros({1}, at::TensorOptions().dtype(at::kLong).device(context.device))) {
    if (kernels_ && device_.is_cpu()) throw Unsupported("a CPU launches no kernels");
    if (kernels_) launch_kernel(device_);
  }

  void before(const std::string&) override { done_.zero_(); }

  void run(const std::string& pass) override {
    if (pass != "launch") throw std::invalid_argument("launch has no pass '" + pass + "'");
    const at::NoGradGuard no_grad;
    launched_ = 0;
    for (; launched_ < launches_; ++launched_) {
      if (kernels_) {
        launch_kernel(device_);
      } else {
        done_.add_(1);
      }
    }
  }

  std::vector<NamedTensor> outputs(const std::string&) override {
    return {{"launches", kernels_ ? at::zeros_like(done_) + launched_ : done_}};
  }

  std::vector<Count> counts(const std::string&) override {
    return {{"launches", "", static_cast<double>(launches_)}};
  }

 private:
  at::Device device_;
  std::int64_t launches_;
  bool kernels_;
  at::Tensor done_;  // [1], int64
  std::int64_t launched_ = 0;
};

class Launch final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    return {
        integer_parameter("launches", 1000, 1, 1 << 20, "Launches in one call."),
        choice_parameter("operation", "libtorch", {"kernel", "libtorch"},
                         "kernel: an empty CUDA kernel; libtorch: LibTorch's smallest operation, "
                         "an addition to one number."),
    };
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"launch"};
    info.default_passes = {"launch"};
    info.metrics = {{"launches", "count", Direction::neither, "Launches in one call.", "launches"}};
    info.default_clock = "wall";
    return info;
  }

  static std::string memory_estimate() { return "8"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<LaunchProgram>(context);
  }

  Verification verify(const CaseContext& context, const std::string& pass) override {
    const auto expected = static_cast<double>(integer_option(context.parameters, "launches"));
    LaunchProgram program(context);
    const auto outputs = reference::call_once(context, program, pass);
    const double done = outputs.at(0).tensor.item().toDouble();
    return {true, std::abs(done - expected) / expected, 0, "launches"};
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::Launch, "launch",
             "Launches without work, for the cost of a launch; the time is that of all of them.")
