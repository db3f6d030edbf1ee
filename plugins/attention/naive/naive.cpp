#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <assay/attention.h>

#include <limits>
#include <map>

namespace {

// The textbook: scores, mask, softmax and values as separate operations. Two seq_q × seq_k matrices
// a head are in memory, and one is kept for the backward.
class Naive final : public assay::Attention {
 public:
  at::Tensor forward(const assay::AttentionInputs& in) override {
    auto scores = at::matmul(in.q * in.scale, in.k.transpose(-2, -1));
    if (in.causal) scores.masked_fill_(hidden(in), -std::numeric_limits<double>::infinity());
    return at::matmul(softmax(in, scores), in.v);
  }

  // Scores and probabilities (forward), or probabilities and three gradients (backward). In a model
  // every block keeps its probabilities, under autocast in fp32 and as a copy.
  static std::string memory_estimate() {
    return "batch * heads * seq_len^2 * if(workload == model_step,"
           " if(runs_backward > 0, layers * if(element_size < 4, 6, 4), 0) + 3 * 4,"
           " element_size * if(runs_backward > 0, 4, 2))";
  }

 private:
  // A query that sees no key gives 0, where a plain softmax gives NaN.
  static at::Tensor softmax(const assay::AttentionInputs& in, const at::Tensor& scores) {
    const bool some_see_nothing = in.causal && in.q.size(2) > in.k.size(2);
    return some_see_nothing ? at::_safe_softmax(scores, -1) : at::softmax(scores, -1);
  }

  // [seq_q, seq_k], true for keys in the query's future. Kept between calls, as a model keeps its
  // mask; a captured step reads it again.
  const at::Tensor& hidden(const assay::AttentionInputs& in) {
    const auto seq_q = in.q.size(2);
    const auto seq_k = in.k.size(2);
    at::Tensor& mask = hidden_[{seq_q, seq_k}];
    if (!mask.defined() || mask.device() != in.q.device()) {
      const auto options = at::TensorOptions().dtype(at::kLong).device(in.q.device());
      const auto last_seen = at::arange(seq_q, options) + (seq_k - seq_q);
      mask = at::arange(seq_k, options).unsqueeze(0) > last_seen.unsqueeze(1);
    }
    return mask;
  }

  std::map<std::pair<std::int64_t, std::int64_t>, at::Tensor> hidden_;
};

}  // namespace

ASSAY_PLUGIN(Naive, "naive", "Textbook attention: matrix products, explicit mask and softmax.")
