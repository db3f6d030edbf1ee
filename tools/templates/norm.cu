#include <ATen/Dispatch.h>
#include <ATen/ops/empty_like.h>
#include <assay/norm.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <device/reduce.cuh>

namespace {

constexpr int threads = 256;

// One block per row: x / √(mean(x²) + eps) · weight, in fp32. Zhang and Sennrich 2019, equation 4.
template <class Scalar, class Weight>
__global__ void normalise(const Scalar* x, const Weight* weight, Scalar* out, int n_cols,
                          float eps) {
  x += static_cast<long>(blockIdx.x) * n_cols;
  out += static_cast<long>(blockIdx.x) * n_cols;
  float squares = 0;
  for (int i = threadIdx.x; i < n_cols; i += threads) {
    const auto value = static_cast<float>(x[i]);
    squares += value * value;
  }
  const float scale = rsqrtf(assay::device::sum_over_block<threads>(squares) / n_cols + eps);
  for (int i = threadIdx.x; i < n_cols; i += threads) {
    out[i] = static_cast<Scalar>(static_cast<float>(x[i]) * scale * static_cast<float>(weight[i]));
  }
}

at::Tensor normalised(const assay::NormInputs& in) {
  const auto x = in.x.contiguous(), weight = in.weight.contiguous();
  const auto n_cols = x.size(-1);
  auto out = at::empty_like(x);
  if (x.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "mine", [&] {
    using Scalar = scalar_t;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, weight.scalar_type(), "mine", [&] {
      normalise<<<static_cast<unsigned>(x.numel() / n_cols), threads, 0,
                  c10::cuda::getCurrentCUDAStream()>>>(
          x.const_data_ptr<Scalar>(), weight.const_data_ptr<scalar_t>(),
          out.mutable_data_ptr<Scalar>(), static_cast<int>(n_cols), static_cast<float>(in.eps));
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

class Mine final : public assay::Norm {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  at::Tensor forward(const assay::NormInputs& in) override {
    return assay::with_textbook_backward(in, centred(), normalised);
  }

  std::optional<std::string> unsupported(const assay::NormInputs& in) const override {
    if (!in.x.is_cuda()) return "it needs a CUDA device";
    if (in.x.scalar_type() == at::kDouble) return "it computes in fp32";
    return {};
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "RMSNorm forward as one kernel, one block per row.")
