#pragma once

// reference holds what results are verified against: the references, tolerances, and memory
// poisoned before a call. It depends on model. Start here.

#include <assay/ops.h>
#include <assay/workload.h>

#include <optional>

namespace assay::model {

// The references kinds are checked against, in float64 and in plain operations, and how far a
// result may be from them.

struct AttentionReference {
  at::Tensor out;  // [batch, heads, rows, d_head]
  at::Tensor lse;  // [batch, heads, rows]
  at::Tensor dq;   // [batch, heads, rows, d_head]; gradients only where dout was given
  at::Tensor dk;   // [batch, heads, seq_k, d_head]
  at::Tensor dv;
};

// Up to this many queries an attention is checked whole, above it by sampled_rows queries.
inline constexpr std::int64_t whole_rows = 4096;
inline constexpr std::int64_t sampled_rows = 64;

// The queries to check, ascending, int64 on the CPU: all of them up to whole_rows, else
// sampled_rows of them drawn from the seed, the first and the last always among them.
at::Tensor rows_to_check(std::int64_t seq_q, std::uint64_t seed);

// Attention of the given queries, one head after the other, from the inputs as they are, rounding
// included. A query that sees no key gives 0. dout: [batch, heads, rows, d_head] or undefined; dk
// and dv are those of a dout that is zero outside `rows`.
AttentionReference attention_reference(const AttentionInputs& in, const at::Tensor& rows,
                                       const at::Tensor& dout);

// The same in differentiable operations, for models.
at::Tensor reference_attention(const AttentionInputs& in);

// RMSNorm, or LayerNorm when centred: (x − mean) / √(var + eps) · weight + bias. Differentiable;
// float64 whatever x's dtype.
at::Tensor reference_norm(const NormInputs& in, bool centred);

// Textbook operations with both references: what a model is checked against.
Ops reference_ops(bool norm_has_bias);

// How far a tensor is from its reference, in float64. A row is what lies along the last dimension.
struct Deviation {
  double whole = 0;  // ‖value − reference‖ / ‖reference‖ over all elements
  // The largest of a row: ‖value − reference‖ of it, by its own ‖reference‖ or by the root of the
  // mean square of all rows', whichever is more. 0 where the reference is.
  double row = 0;
  std::int64_t where = 0;  // that row's number
};
// No element of the reference counts as smaller than `floor` on average: of a tensor, or a row, all
// of whose elements are smaller, the norm is as if they were so large. NaN or infinity in `value`
// gives infinity. Little memory is taken beside the tensors.
Deviation deviation(const at::Tensor& value, const at::Tensor& reference, double floor = 0);

// A row of a tensor of two or more dimensions may be so many times as far off as the whole.
inline constexpr double row_allowance = 4;

// ‖value − reference‖ / ‖reference‖ over all elements, in float64 (‖value‖ where the reference is
// 0). NaN or infinity in `value` gives infinity.
double relative_error(const at::Tensor& value, const at::Tensor& reference);

// The largest relative error a single operation's result may have; its gradients may have twice
// that.
double tolerance(const PrecisionPolicy& precision);

// Keeps the worst of several comparisons. Where a value is within the tolerance as a whole and one
// row of it beyond row_allowance times that, the row is what is kept: its error, its tolerance, and
// `worst` names it. A value that is undefined, on another device or of
// another shape has an infinite error, and `worst` says so, as it does of NaN and infinity.
void compare(Verification& verification, const std::string& name, const at::Tensor& value,
             const at::Tensor& reference, double tolerance);

// Each reference with the value of its name; one that is missing has an infinite error. Names that
// begin with "grad." may be `gradient_allowance` times as far off.
void compare_all(Verification& verification, const std::vector<NamedTensor>& values,
                 const std::vector<NamedTensor>& references, double tolerance,
                 double gradient_allowance);

// Throws PluginFailure with the outcome `wrong` where a value has another dtype.
void require_dtype(const NamedTensor& value, at::ScalarType dtype);

}  // namespace assay::model
