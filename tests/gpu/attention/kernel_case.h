#pragma once

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/randn.h>

#include <memory>
#include <optional>
#include <string>

#include "gpu/device.h"
#include "plugins/attention/attention_inputs.h"
#include "plugins/support.h"
#include "results.h"

namespace assay {

// What an attention kernel of the project is asked for in a test.
struct KernelCase {
  std::string name;
  test::AttentionShape shape;
  at::ScalarType dtype = at::kBFloat16;
  bool causal = true;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t window = 0;
  test::Layout layout = test::Layout::heads_last;
};

inline void PrintTo(const KernelCase& tested, std::ostream* stream) { *stream << tested.name; }

struct DrawnInputs {
  AttentionInputs in;
  at::Tensor dout;
};

inline at::Tensor drawn_like(const at::Tensor& q) {
  return at::randn(q.sizes(), model::seeded_generator(cuda, 18), q.options().dtype(at::kFloat))
      .to(q.scalar_type());
}

inline DrawnInputs draw(const KernelCase& tested) {
  DrawnInputs drawn;
  drawn.in = test::attention_inputs(tested.shape, tested.dtype, tested.causal, tested.layout, cuda);
  drawn.in.window = tested.window;
  if (tested.kv_heads > 0) {
    drawn.in.k = drawn.in.k.narrow(1, 0, tested.kv_heads);
    drawn.in.v = drawn.in.v.narrow(1, 0, tested.kv_heads);
  }
  for (at::Tensor* tensor : {&drawn.in.q, &drawn.in.k, &drawn.in.v}) *tensor = tensor->detach();
  drawn.dout = drawn_like(drawn.in.q);
  return drawn;
}

inline std::unique_ptr<AttentionBoundary> flash(bool deterministic = false) {
  return test::load<AttentionBoundary>("attention", "flash", "flash",
                                       {{"deterministic", deterministic}});
}
inline std::unique_ptr<AttentionBoundary> flash_portable() {
  return test::load<AttentionBoundary>("attention", "flash_portable", "flash_portable");
}

inline AttentionResults results_of(AttentionBoundary& attention, const DrawnInputs& drawn) {
  AttentionOutput output;
  throw_unless_ok(attention.forward_with_lse(drawn.in, output));
  AttentionGradients made;
  throw_unless_ok(attention.backward(drawn.in, output.out, output.lse, drawn.dout, made));
  return {output.out, output.lse, made.dq, made.dk, made.dv};
}

// What a plugin says of inputs; nothing where it takes them.
inline std::optional<std::string> refusal_of(AttentionBoundary& attention,
                                             const AttentionInputs& in) {
  std::optional<std::string> reason;
  throw_unless_ok(attention.unsupported(in, reason));
  return reason;
}

// Of compute capability `major`.0 and above, or nothing.
inline std::string why_no_gpu(int major) {
  if (at::getNumGPUs() == 0) return "no CUDA device on this machine";
  if (at::cuda::getCurrentDeviceProperties()->major >= major) return {};
  return "the kernels begin at compute capability " + std::to_string(major) + ".0";
}
inline std::string why_no_hopper() {
  if (std::string why = why_no_gpu(9); !why.empty()) return why;
  const auto* device = at::cuda::getCurrentDeviceProperties();
  return device->major == 9 && device->minor == 0 ? "" : "flash is for Hopper alone";
}

// Largest errors against float64: at most twice those of textbook attention in the same dtype,
// beside a floor.
class ExactResults {
 public:
  explicit ExactResults(const DrawnInputs& drawn)
      : right_(textbook_results(drawn.in, drawn.dout, at::kDouble)) {
    const auto dtype = drawn.in.q.scalar_type();
    const auto textbook = textbook_results(drawn.in, drawn.dout, dtype);
    const double floor = dtype == at::kFloat ? 2e-6 : dtype == at::kHalf ? 3e-4 : 2e-3;
    for (std::size_t i = 0; i < textbook.size(); ++i) {
      allowed_[i] = 2 * largest_error(textbook[i], right_[i]) + floor;
    }
  }

  void expect(const AttentionResults& made) const {
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_LE(largest_error(made[i], right_[i]), allowed_[i]) << result_names[i];
    }
  }

 private:
  AttentionResults right_;
  std::array<double, 5> allowed_ = {};
};

inline void expect_equal(const AttentionResults& a, const AttentionResults& b) {
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << result_names[i];
}

}  // namespace assay
