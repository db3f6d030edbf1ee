#include "compile/fused_parts/matrix_product.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace assay::fused {

namespace {

constexpr std::int64_t most_workspace_bytes = std::int64_t{32} << 20;
constexpr int most_algorithms = 8;
constexpr int timed_calls = 3;

bool is_16_bit_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const auto dtype = a.scalar_type();
  return (dtype == at::kBFloat16 || dtype == at::kHalf) && b.scalar_type() == dtype &&
         (out.scalar_type() == dtype || out.scalar_type() == at::kFloat);
}

// As cuBLASLt sees a row-major matrix: the transposed one, column by column.
struct Operand {
  bool is_transposed;  // of what cuBLASLt sees
  std::int64_t stride;
};

std::optional<Operand> operand_of(const at::Tensor& matrix) {
  const auto stride_of = [&](int dim) {
    return std::max<std::int64_t>(matrix.stride(dim), matrix.size(1 - dim));
  };
  if (matrix.stride(1) == 1 || matrix.size(1) == 1) return Operand{false, stride_of(0)};
  if (matrix.stride(0) == 1 || matrix.size(0) == 1) return Operand{true, stride_of(1)};
  return std::nullopt;
}

cudaDataType_t cuda_dtype(const at::Tensor& matrix) {
  switch (matrix.scalar_type()) {
    case at::kBFloat16:
      return CUDA_R_16BF;
    case at::kHalf:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

std::uint32_t alignment_of(const at::Tensor& matrix) {
  constexpr std::uintptr_t most = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.const_data_ptr());
  return static_cast<std::uint32_t>(std::min(most, address & (~address + 1)));
}

template <auto destroy>
struct Destroy {
  template <class Handle>
  void operator()(Handle* handle) const {
    destroy(handle);
  }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

Description description_of(const Operand& first, const Operand& second) {
  cublasLtMatmulDesc_t made = nullptr;
  TORCH_CUDABLAS_CHECK(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Description description(made);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const Operand& operand) {
    const cublasOperation_t operation = operand.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    TORCH_CUDABLAS_CHECK(
        cublasLtMatmulDescSetAttribute(made, attribute, &operation, sizeof(operation)));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, second);
  return description;
}

// matrix: [rows, columns], row by row or, where it is transposed, column by column.
Layout layout_of(const at::Tensor& matrix, const Operand& operand) {
  cublasLtMatrixLayout_t made = nullptr;
  const auto inner = static_cast<std::uint64_t>(matrix.size(operand.is_transposed ? 0 : 1));
  const auto outer = static_cast<std::uint64_t>(matrix.size(operand.is_transposed ? 1 : 0));
  TORCH_CUDABLAS_CHECK(
      cublasLtMatrixLayoutCreate(&made, cuda_dtype(matrix), inner, outer, operand.stride));
  return Layout(made);
}

// out = a b as cuBLASLt's outᵀ = bᵀ aᵀ.
class Call {
 public:
  Call(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const Operand& of_a,
       const Operand& of_b)
      : out_(out),
        a_(a),
        b_(b),
        handle_(at::cuda::getCurrentCUDABlasLtHandle()),
        description_(description_of(of_b, of_a)),
        of_out_(layout_of(out, {false, out.size(1)})),
        of_a_(layout_of(a, of_a)),
        of_b_(layout_of(b, of_b)) {}

  // Best by its own estimate first.
  std::vector<ProductAlgorithm> algorithms() const {
    cublasLtMatmulPreference_t made = nullptr;
    TORCH_CUDABLAS_CHECK(cublasLtMatmulPreferenceCreate(&made));
    const Preference preference(made);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      TORCH_CUDABLAS_CHECK(
          cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value)));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(most_workspace_bytes));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(b_));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(a_));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(out_));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(out_));
    cublasLtMatmulHeuristicResult_t results[most_algorithms] = {};
    int found = 0;
    const auto status = cublasLtMatmulAlgoGetHeuristic(handle_, description_.get(), of_b_.get(),
                                                       of_a_.get(), of_out_.get(), of_out_.get(),
                                                       made, most_algorithms, results, &found);
    std::vector<ProductAlgorithm> algorithms;
    if (status != CUBLAS_STATUS_SUCCESS) return algorithms;
    for (int i = 0; i < found; ++i) {
      if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
      algorithms.push_back({results[i].algo, static_cast<std::int64_t>(results[i].workspaceSize)});
    }
    return algorithms;
  }

  cublasStatus_t run(const ProductAlgorithm& algorithm) const {
    const float one = 1, zero = 0;
    void* out = out_.mutable_data_ptr();
    const at::Tensor workspace =
        at::empty({algorithm.workspace_bytes}, out_.options().dtype(at::kByte));
    return cublasLtMatmul(handle_, description_.get(), &one, b_.const_data_ptr(), of_b_.get(),
                          a_.const_data_ptr(), of_a_.get(), &zero, out, of_out_.get(), out,
                          of_out_.get(), &algorithm.of_cublaslt, workspace.mutable_data_ptr(),
                          static_cast<std::size_t>(algorithm.workspace_bytes),
                          c10::cuda::getCurrentCUDAStream());
  }

 private:
  const at::Tensor &out_, &a_, &b_;
  cublasLtHandle_t handle_;
  Description description_;
  Layout of_out_, of_a_, of_b_;
};

// Milliseconds of some calls; nothing where it fails.
std::optional<float> time_of(const Call& call, const ProductAlgorithm& algorithm) {
  if (call.run(algorithm) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  begin.record();
  for (int i = 0; i < timed_calls; ++i) call.run(algorithm);
  end.record();
  end.synchronize();
  return begin.elapsed_time(end);
}

std::optional<ProductAlgorithm> fastest(const Call& call,
                                        const std::vector<ProductAlgorithm>& algorithms) {
  std::optional<ProductAlgorithm> best;
  float best_time = 0;
  for (const ProductAlgorithm& algorithm : algorithms) {
    const auto time = time_of(call, algorithm);
    if (!time || (best && *time >= best_time)) continue;
    best = algorithm;
    best_time = *time;
  }
  return best;
}

void product_of_libtorch(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  at::Tensor to = out;
  if (out.scalar_type() == a.scalar_type()) {
    at::mm_out(to, a, b);
  } else {
    at::mm_out(to, a, b, out.scalar_type());
  }
}

}  // namespace

void MatrixProduct::operator()(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (out.numel() == 0) return;
  const auto of_a = operand_of(a), of_b = operand_of(b);
  if (!is_16_bit_product(out, a, b) || !of_a || !of_b || a.size(1) == 0) {
    return product_of_libtorch(out, a, b);
  }
  const Call call(out, a, b, *of_a, *of_b);
  const Shape shape = {out.size(0),
                       out.size(1),
                       a.size(1),
                       of_a->stride,
                       of_b->stride,
                       (of_a->is_transposed ? 1 : 0) + (of_b->is_transposed ? 2 : 0),
                       static_cast<std::int64_t>(a.scalar_type()),
                       static_cast<std::int64_t>(out.scalar_type()),
                       alignment_of(out),
                       alignment_of(a),
                       alignment_of(b)};
  Choice& choice = choices_[shape];
  const bool can_time =
      c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None;
  if (!choice.is_timed && (can_time || !choice.algorithm)) {
    const auto algorithms = call.algorithms();
    choice.is_timed = can_time;
    if (can_time) {
      choice.algorithm = fastest(call, algorithms);
    } else if (!algorithms.empty()) {
      choice.algorithm = algorithms.front();
    }
  }
  if (!choice.algorithm) return product_of_libtorch(out, a, b);
  TORCH_CUDABLAS_CHECK(call.run(*choice.algorithm));
}

}  // namespace assay::fused
