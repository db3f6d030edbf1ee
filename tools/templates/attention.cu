#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/attention.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <device/reduce.cuh>

// A compiled option: assay builds a library for each value that an experiment names.
#ifndef ASSAY_OPTION_QUERIES
#define ASSAY_OPTION_QUERIES 4
#endif

namespace {

using assay::device::sum_over_warp;
using assay::device::warp;

constexpr int queries = ASSAY_OPTION_QUERIES;  // per block, one warp each
constexpr int largest_d_head = 256;
constexpr int elements = largest_d_head / warp;  // of a head, per lane

struct MineSizes {
  int heads, kv_heads, seq_q, seq_k, d_head;
  float scale;
  bool causal;
  int window;  // 0: none
};

// Element i of a lane's part of a head; 0 beyond the head's end.
template <class Scalar>
__device__ float at_lane(const Scalar* head, int i, int d_head) {
  const int element = i * warp + threadIdx.x;
  return element < d_head ? static_cast<float>(head[element]) : 0;
}

// One warp per query; a lane holds every 32nd element of the head. The softmax is kept in fp32 as
// the largest score, the sum of exponentials and the weighted sum of values so far.
template <class Scalar>
__global__ void attend(const Scalar* q, const Scalar* k, const Scalar* v, Scalar* out, float* lse,
                       MineSizes sizes) {
  const int query = blockIdx.x * queries + threadIdx.y;
  const int lane = threadIdx.x, d_head = sizes.d_head;
  if (query >= sizes.seq_q) return;
  const long head = blockIdx.y;
  const int place = query + sizes.seq_k - sizes.seq_q;
  int first = 0, seen = sizes.causal ? min(sizes.seq_k, place + 1) : sizes.seq_k;
  if (sizes.window > 0) {
    first = max(0, place - sizes.window + 1);
    seen = min(seen, place + sizes.window);
  }
  const long kv_head =
      head / sizes.heads * sizes.kv_heads + head % sizes.heads / (sizes.heads / sizes.kv_heads);
  q += (head * sizes.seq_q + query) * d_head;
  k += (kv_head * sizes.seq_k + first) * d_head;
  v += (kv_head * sizes.seq_k + first) * d_head;

  float part[elements], sum[elements] = {};
  for (int i = 0; i < elements; ++i) part[i] = at_lane(q, i, d_head) * sizes.scale;
  float largest = -INFINITY, total = 0;
  for (int key = first; key < seen; ++key, k += d_head, v += d_head) {
    float product = 0;
    for (int i = 0; i < elements; ++i) product += part[i] * at_lane(k, i, d_head);
    const float score = sum_over_warp(product);
    const float next = fmaxf(largest, score);
    const float kept = expf(largest - next), weight = expf(score - next);
    largest = next;
    total = total * kept + weight;
    for (int i = 0; i < elements; ++i) sum[i] = sum[i] * kept + weight * at_lane(v, i, d_head);
  }
  out += (head * sizes.seq_q + query) * d_head;
  for (int i = 0; i < elements; ++i) {
    if (i * warp + lane < d_head) {
      out[i * warp + lane] = static_cast<Scalar>(total > 0 ? sum[i] / total : 0);
    }
  }
  if (lane == 0) lse[head * sizes.seq_q + query] = largest + logf(total);
}

class Mine final : public assay::Attention {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  static std::vector<assay::ParameterInfo> options() {
    return {assay::compiled_parameter("queries", ASSAY_OPTION_QUERIES, {1, 2, 4, 8},
                                      "Queries of a block, one warp each.")};
  }

  bool has_backward() const override { return true; }
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }

  at::Tensor forward(const assay::AttentionInputs& in) override { return forward_with_lse(in).out; }

  assay::AttentionOutput forward_with_lse(const assay::AttentionInputs& in) override {
    const auto q = in.q.contiguous(), k = in.k.contiguous(), v = in.v.contiguous();
    assay::AttentionOutput output = {at::empty_like(q), at::empty({q.size(0), q.size(1), q.size(2)},
                                                                  q.options().dtype(at::kFloat))};
    if (q.numel() == 0) return output;
    const MineSizes sizes = {static_cast<int>(q.size(1)),
                             static_cast<int>(k.size(1)),
                             static_cast<int>(q.size(2)),
                             static_cast<int>(k.size(2)),
                             static_cast<int>(q.size(3)),
                             static_cast<float>(in.scale),
                             in.causal,
                             static_cast<int>(std::min<std::int64_t>(in.window, 1 << 30))};
    const dim3 grid((sizes.seq_q + queries - 1) / queries,
                    static_cast<unsigned>(q.size(0) * q.size(1)));
    const dim3 block(warp, queries);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), "mine", [&] {
      attend<<<grid, block, 0, c10::cuda::getCurrentCUDAStream()>>>(
          q.const_data_ptr<scalar_t>(), k.const_data_ptr<scalar_t>(), v.const_data_ptr<scalar_t>(),
          output.out.mutable_data_ptr<scalar_t>(), output.lse.mutable_data_ptr<float>(), sizes);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
  }

  assay::AttentionGradients backward(const assay::AttentionInputs& in, const at::Tensor& out,
                                     const at::Tensor& lse, const at::Tensor& dout) override {
    return assay::textbook_backward(in, out, lse, dout);
  }

  std::optional<std::string> unsupported(const assay::AttentionInputs& in) const override {
    if (!in.q.is_cuda()) return "it needs a CUDA device";
    if (in.q.scalar_type() == at::kDouble) return "it computes in fp32";
    if (in.q.size(3) > largest_d_head) return "d_head is over 256";
    if (in.q.size(0) * in.q.size(1) > 65535) return "batch * heads is over 65,535";
    return {};
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "One warp per query, with an online softmax.")
