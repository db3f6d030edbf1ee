#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/norm.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>

namespace {

constexpr int warp = 32;
constexpr int threads = 256;

__device__ float sum_over_block(float value) {
  __shared__ float sums[threads / warp];
  for (int step = warp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % warp == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();
  value = 0;
  for (const float sum : sums) value += sum;
  return value;
}

// One block a row: x / √(mean(x²) + eps) · weight, in fp32. Zhang and Sennrich 2019, equation 4.
template <class Scalar, class Weight>
__global__ void normalise(const Scalar* x, const Weight* weight, Scalar* out, float* scales,
                          int n_cols, float eps) {
  x += static_cast<long>(blockIdx.x) * n_cols;
  out += static_cast<long>(blockIdx.x) * n_cols;
  float squares = 0;
  for (int i = threadIdx.x; i < n_cols; i += threads) {
    const auto value = static_cast<float>(x[i]);
    squares += value * value;
  }
  const float scale = rsqrtf(sum_over_block(squares) / n_cols + eps);
  for (int i = threadIdx.x; i < n_cols; i += threads) {
    out[i] = static_cast<Scalar>(static_cast<float>(x[i]) * scale * static_cast<float>(weight[i]));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

struct Function : torch::autograd::Function<Function> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, double eps) {
    const auto x = input.contiguous(), w = weight.contiguous();
    const auto n_cols = x.size(-1);
    const auto rows = x.numel() / n_cols;
    auto out = at::empty_like(x);
    auto scales = at::empty({rows}, x.options().dtype(at::kFloat));
    if (rows > 0) {
      AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "mine", [&] {
        using Scalar = scalar_t;
        AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, w.scalar_type(), "mine", [&] {
          normalise<<<static_cast<unsigned>(rows), threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
              x.const_data_ptr<Scalar>(), w.const_data_ptr<scalar_t>(),
              out.mutable_data_ptr<Scalar>(), scales.mutable_data_ptr<float>(),
              static_cast<int>(n_cols), static_cast<float>(eps));
        });
      });
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    context->save_for_backward({x, w, scales});
    return out;
  }

  // With y = x · scale: dx = (dy − y · mean(dy · y)) · scale, where dy = dout · weight.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto n_cols = saved[0].size(-1);
    const auto scale = saved[2].unsqueeze(-1);
    const auto y = saved[0].reshape({-1, n_cols}).to(at::kFloat) * scale;
    const auto dout = gradients[0].reshape({-1, n_cols}).to(at::kFloat);
    const auto dy = dout * saved[1].to(at::kFloat);
    const auto dx = (dy - y * (dy * y).mean(-1, /*keepdim=*/true)) * scale;
    return {dx.to(saved[0].scalar_type()).view_as(saved[0]),
            (dout * y).sum(0).to(saved[1].scalar_type()), at::Tensor()};
  }
};

class Mine final : public assay::Norm {
 public:
  at::Tensor forward(const assay::NormInputs& in) override {
    return Function::apply(in.x, in.weight, in.eps);
  }

  std::optional<std::string> unsupported(const assay::NormInputs& in) const override {
    if (!in.x.is_cuda()) return "it needs a CUDA device";
    if (in.x.scalar_type() == at::kDouble) return "it computes in fp32";
    return {};
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "RMSNorm forward as one kernel, a block a row.")
