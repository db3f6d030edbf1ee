#pragma once

// What a workload verifies itself against: references in float64, tolerances, and comparisons that
// make a Verification. The workloads inside assay use these and nothing else:
//
//   assay::Verification verify(const assay::CaseContext& context, const std::string& pass) {
//     const assay::reference::PoisonedMemory poisoned(context.device, bytes);
//     MyProgram program(context);
//     const auto values = assay::reference::call_once(context, program, pass);
//     const auto right = assay::reference::norm(program.inputs(), /*centred=*/false);
//     assay::Verification verification;
//     assay::reference::compare_all(verification, values, {{"out", right.out}},
//                                   assay::reference::tolerance(context.precision));
//     return verification;
//   }
//
// References take their inputs as they are, rounding included, in any floating dtype and strides,
// on any device, and return float64 tensors there. They may be called from any thread, one call at
// a time for the same tensors.

#include <ATen/core/Generator.h>
#include <assay/ops.h>
#include <assay/workload.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::reference {

struct AttentionResult {
  at::Tensor out;  // [batch, heads, rows, d_head]
  at::Tensor lse;  // [batch, heads, rows]
  at::Tensor dq;   // [batch, heads, rows, d_head]; gradients only where dout is given
  at::Tensor dk;   // [batch, kv_heads, seq_k, d_head]
  at::Tensor dv;
};

// Attention (assay/attention.h) of the given queries, head by head, which takes rows × seq_k
// float64 numbers at a time. rows: int64, ascending, on any device; undefined: all queries. dout:
// [batch, heads, rows, d_head] or undefined; dk and dv take dout as zero outside of `rows`.
AttentionResult attention(const AttentionInputs& in, const at::Tensor& dout = {},
                          const at::Tensor& rows = {});

// Attention is checked on all queries up to whole_rows, above that on sampled_rows queries.
inline constexpr std::int64_t whole_rows = 4096;
inline constexpr std::int64_t sampled_rows = 64;

// The queries to check, ascending, int64 on the CPU: all, or sampled_rows of them drawn from the
// seed with the first and the last included.
at::Tensor rows_to_check(std::int64_t seq_q, std::uint64_t seed);

// A random sample of rows, for inputs that are too large to be checked whole. Rows are counted over
// batch and heads: row i of head h is row (b · heads + h) · seq + i. Float64.
struct AttentionSample {
  at::Tensor queries;  // [n] int64 on the CPU, ascending
  at::Tensor out, dq;  // [n, d_head]; gradients only where dout is given
  at::Tensor keys;     // [m] int64, all of one head; undefined where they would cost too much
  at::Tensor dk, dv;   // [m, d_head]
  // The same of textbook operations in the inputs' dtype.
  at::Tensor textbook_out, textbook_dq, textbook_dk, textbook_dv;
  // Of inputs of fp32 and wider: what rounding makes of each row of dq [n] and of dk [m]. In dS =
  // P ∘ (dO Vᵀ − rowsum(dO ∘ O)) a score is known to ε scale ‖q‖ ‖k‖, and with it the weight's
  // share, and the terms of the difference, which may cancel, to ε ‖dO‖ ‖v‖.
  at::Tensor rounding_dq, rounding_dk;
};

// Draws 128 queries over all heads and, with dout, 64 keys of one head, whose gradients take the
// whole of that head's scores: keys are left out above 2^36 operations on a CPU, 2^42 on a GPU.
// dout: like out, whole. Computes on `device`, some 100 MiB at a time, on a GPU 1 to 1.5 GiB.
AttentionSample attention_sample(const AttentionInputs& in, const at::Tensor& dout,
                                 std::uint64_t seed, at::Device device);
// The rows with those numbers of [batch, heads, seq, d_head], in any strides.
at::Tensor rows_of_heads(const at::Tensor& tensor, const at::Tensor& rows);

struct NormResult {
  at::Tensor out;  // like x
  at::Tensor dx;   // gradients only where dout is given
  at::Tensor dweight;
  at::Tensor dbias;  // undefined where in.bias is
};

// RMSNorm, or LayerNorm where centred (assay/norm.h), in blocks of rows that keep temporaries
// small. dout: like x, or undefined.
NormResult norm(const NormInputs& in, bool centred, const at::Tensor& dout = {});

// Those columns of dweight and dbias, which all rows contribute to. columns: [n] int64.
NormResult norm_columns(const NormInputs& in, bool centred, const at::Tensor& dout,
                        const at::Tensor& columns);
// Norm in plain operations, in fp32 or wider inside, differentiable, with x's dtype.
at::Tensor textbook_norm(const NormInputs& in, bool centred);

struct AddNormResult {
  at::Tensor sum;   // residual + x
  at::Tensor out;   // norm(sum), of the sum before any rounding
  at::Tensor dsum;  // of residual and of x; gradients only where dout is given
  at::Tensor dweight;
  at::Tensor dbias;
};

// The norm's second entry: residual addition and norm. residual, dsum and dout: like in.x.
AddNormResult add_norm(const at::Tensor& residual, const NormInputs& in, bool centred,
                       const at::Tensor& dsum = {}, const at::Tensor& dout = {});

struct LinearResult {
  at::Tensor out;  // [..., out]
  at::Tensor dx;   // [..., in]; gradients only where dout is given
  at::Tensor dweight;
};

// x weightᵀ, x: [..., in], weight: [out, in], dout: [..., out] or undefined.
LinearResult linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& dout = {});

// All operations of a model as textbook ones: with float64 inputs they are references for rope,
// swiglu, gelu, embedding, loss, optimizer and whole models. Attention and norm are references by
// autograd; attention takes seq_q × seq_k numbers a head.
Ops operations(bool norm_has_bias);

// Attention in operations that autograd differentiates, in q's dtype.
at::Tensor differentiable_attention(const AttentionInputs& in);
// RMSNorm, or LayerNorm when centred, in differentiable float64 operations whatever x's dtype.
at::Tensor differentiable_norm(const NormInputs& in, bool centred);

// Largest relative error allowed for a single operation's result. By the dtype that it is computed
// in: fp64 1e-10, fp32 1e-4, with TF32 products and in fp16 5e-3, bf16 2e-2.
double tolerance(const PrecisionPolicy& precision);
double tolerance(at::ScalarType dtype, bool tf32 = false);
// How many times that a gradient may be off.
inline constexpr double gradient_allowance = 2;
// How many times the whole's tolerance a row of a tensor of two or more dimensions may be off.
inline constexpr double row_allowance = 4;

// Distance of a tensor from its reference, in float64. A row lies along the last dimension.
struct Deviation {
  double whole = 0;  // ‖value − reference‖ / ‖reference‖ over all elements
  // Largest over rows: ‖value − reference‖ divided by the row's ‖reference‖ or by the root mean
  // square of all rows' norms, whichever is larger. 0 where the reference is 0.
  double row = 0;
  std::int64_t where = 0;  // index of that row

  // What is held against a whole's tolerance: the whole, or a row beyond its allowance.
  double larger() const { return std::max(whole, row / row_allowance); }
};
// `floor` is the least root mean square that a reference, or a row of it, counts with. NaN or
// infinity in `value` gives infinity. Takes little memory beside the tensors.
Deviation deviation(const at::Tensor& value, const at::Tensor& reference, double floor = 0);
// "holds NaN", "holds infinity" or "".
std::string not_finite(const at::Tensor& value);

// ‖value − reference‖ / ‖reference‖ over all elements, in float64; ‖value‖ where the reference is
// 0; infinity where `value` has NaN or infinity.
double relative_error(const at::Tensor& value, const at::Tensor& reference);

// Keeps the worst of several comparisons. Where a value is within tolerance as a whole but one of
// its rows exceeds row_allowance times that, the row is kept: its error, its tolerance, and its
// name in `worst`. Undefined values, NaN, infinity, and another device or shape give an infinite
// error, which `worst` explains. floor: as deviation() has it.
void compare(Verification& verification, const std::string& name, const at::Tensor& value,
             const at::Tensor& reference, double tolerance, double floor = 0);

// Compares each reference with the value of the same name; a missing value has an infinite error.
// Names that begin with "grad." may be `allowance` times as far off.
void compare_all(Verification& verification, const std::vector<NamedTensor>& values,
                 const std::vector<NamedTensor>& references, double tolerance,
                 double allowance = gradient_allowance);

// Kernels of a dtype differ little in their errors. One whose error is larger than twice that of
// textbook operations on the same inputs, and an eighth of the tolerance, has left something out.
inline constexpr double textbook_allowance = 2;
inline constexpr double textbook_floor = 0.125;

// compare() with the smaller of `tolerance` and what the error of `textbook` allows. It may be
// undefined.
void compare_beside(Verification& verification, const std::string& name, const at::Tensor& value,
                    const at::Tensor& reference, const at::Tensor& textbook, double tolerance,
                    double floor = 0);

// A number that nobody could know before this call: from the operating system.
std::uint64_t fresh_seed();

// So many of the numbers below `all`, or all of them if they are fewer: different ones, ascending,
// int64 on the CPU. A share p of wrong ones escapes `count` draws with a chance below (1 -
// p)^count.
at::Tensor drawn_below(std::int64_t all, std::int64_t count, std::uint64_t seed);

// What a call left under that name, of that dtype. Throws PluginFailure with outcome `wrong` where
// it left none, or one of another dtype.
const at::Tensor& require_output(const std::vector<NamedTensor>& values, const std::string& name,
                                 at::ScalarType dtype);

// Calls a pass once, launched by the case's compile variant as a timed one is, and returns copies
// of its outputs. Throws PluginFailure.
std::vector<NamedTensor> call_once(const CaseContext& context, Program& program,
                                   const std::string& pass);

// The tensor of that name, for Workload::verify_exchange. Throws std::invalid_argument where it is
// missing or has another shape or dtype.
at::Tensor exchanged(const std::vector<NamedTensor>& tensors, const std::string& name,
                     at::IntArrayRef sizes, at::ScalarType dtype);

// A new generator, independent of LibTorch's own: inputs depend on the case's seed alone.
at::Generator seeded_generator(at::Device device, std::uint64_t seed);

// While one lives, memory that an operation allocates and does not write holds NaN, which exposes
// results that depend on it. On a CPU LibTorch fills every new tensor. On a GPU the allocator's
// free memory is filled once, up to `bytes`: LibTorch's own switch makes some kernels choose other
// algorithms than the timed ones. One at a time.
class PoisonedMemory {
 public:
  PoisonedMemory(at::Device device, std::int64_t bytes);
  ~PoisonedMemory();
  PoisonedMemory(const PoisonedMemory&) = delete;
  PoisonedMemory& operator=(const PoisonedMemory&) = delete;

 private:
  bool on_cpu_;
  bool was_deterministic_ = false;
  bool was_warn_only_ = false;
  bool was_filling_ = false;
};

}  // namespace assay::reference
