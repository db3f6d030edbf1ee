#pragma once

// reference holds what results are verified against: references, tolerances, and memory poisoned
// before a call. It depends on model. Start here.

#include <assay/ops.h>
#include <assay/workload.h>

#include <optional>

namespace assay::model {

struct AttentionReference {
  at::Tensor out;  // [batch, heads, rows, d_head]
  at::Tensor lse;  // [batch, heads, rows]
  at::Tensor dq;   // gradients only where dout is given
  at::Tensor dk;   // [batch, heads, seq_k, d_head]
  at::Tensor dv;
};

// Attention is checked on all queries up to whole_rows, above that on sampled_rows queries.
inline constexpr std::int64_t whole_rows = 4096;
inline constexpr std::int64_t sampled_rows = 64;

// The queries to check, ascending, int64 on the CPU: all, or sampled_rows of them drawn from the
// seed with the first and the last included.
at::Tensor rows_to_check(std::int64_t seq_q, std::uint64_t seed);

// Attention of the given queries in float64, head by head, from the inputs as they are, rounding
// included. A query that sees no key gives 0. dout: [batch, heads, rows, d_head] or undefined; dk
// and dv take dout as zero outside `rows`.
AttentionReference attention_reference(const AttentionInputs& in, const at::Tensor& rows,
                                       const at::Tensor& dout);

// The same in differentiable operations, for whole models.
at::Tensor reference_attention(const AttentionInputs& in);

// RMSNorm, or LayerNorm when centred, in differentiable float64 operations whatever x's dtype.
at::Tensor reference_norm(const NormInputs& in, bool centred);

// Textbook operations with both references, to check models against.
Ops reference_ops(bool norm_has_bias);

// Distance of a tensor from its reference, in float64. A row lies along the last dimension.
struct Deviation {
  double whole = 0;  // ‖value − reference‖ / ‖reference‖ over all elements
  // Largest over rows: ‖value − reference‖ divided by the row's ‖reference‖ or by the root mean
  // square of all rows' norms, whichever is larger. 0 where the reference is 0.
  double row = 0;
  std::int64_t where = 0;  // index of that row
};
// `floor` is the least root mean square that a reference, or a row of it, counts with. NaN or
// infinity in `value` gives infinity. Takes little memory beside the tensors.
Deviation deviation(const at::Tensor& value, const at::Tensor& reference, double floor = 0);

// How many times the whole's tolerance a row of a tensor of two or more dimensions may be off.
inline constexpr double row_allowance = 4;

// ‖value − reference‖ / ‖reference‖ over all elements, in float64; ‖value‖ where the reference is
// 0; infinity where `value` has NaN or infinity.
double relative_error(const at::Tensor& value, const at::Tensor& reference);

// Largest relative error allowed for a single operation's result; twice that for its gradients.
double tolerance(const PrecisionPolicy& precision);

// Keeps the worst of several comparisons. Where a value is within tolerance as a whole but one of
// its rows exceeds row_allowance times that, the row is kept: its error, its tolerance, and its
// name in `worst`. Undefined values, NaN, infinity, and another device or shape give an infinite
// error, which `worst` explains.
void compare(Verification& verification, const std::string& name, const at::Tensor& value,
             const at::Tensor& reference, double tolerance);

// Compares each reference with the value of the same name; a missing value has an infinite error.
// Names that begin with "grad." may be `gradient_allowance` times as far off.
void compare_all(Verification& verification, const std::vector<NamedTensor>& values,
                 const std::vector<NamedTensor>& references, double tolerance,
                 double gradient_allowance);

// Throws PluginFailure with outcome `wrong` for another dtype.
void require_dtype(const NamedTensor& value, at::ScalarType dtype);

}  // namespace assay::model
