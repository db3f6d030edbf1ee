#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <assay/attention.h>
#include <assay/range.h>

#include <limits>
#include <map>
#include <tuple>

namespace {

// The textbook: scores, mask, softmax and values as separate operations. Two seq_q × seq_k matrices
// a head are in memory, and one is kept for the backward.
class Naive final : public assay::Attention {
 public:
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }

  at::Tensor forward(const assay::AttentionInputs& in) override {
    const bool grouped = in.q.size(1) != in.k.size(1);
    const auto out = values(softmax(in, scores(in, grouped)), in.v);
    return grouped ? out.reshape(in.q.sizes()) : out;
  }

  // Scores and probabilities (forward), or probabilities and three gradients (backward). In a model
  // every block keeps its probabilities, under autocast in fp32 and as a copy.
  static std::string memory_estimate() {
    return "batch * heads * seq_len^2 * if(workload == model_step,"
           " if(runs_backward > 0, layers * if(element_size < 4, 6, 4), 0) + 3 * 4,"
           " element_size * if(runs_backward > 0, 4, 2))";
  }

 private:
  at::Tensor scores(const assay::AttentionInputs& in, bool grouped) {
    const auto q = in.q * in.scale;
    at::Tensor scores;
    {
      const assay::Range range("scores");
      scores = at::matmul(grouped ? by_group(in, q) : q, in.k.transpose(-2, -1));
    }
    if (in.causal || in.window > 0) {
      const assay::Range range("mask");
      scores.masked_fill_(hidden(in), -std::numeric_limits<double>::infinity());
    }
    return scores;
  }

  static at::Tensor values(const at::Tensor& probabilities, const at::Tensor& v) {
    const assay::Range range("values");
    return at::matmul(probabilities, v);
  }

  // A query that sees no key gives 0, where a plain softmax gives NaN.
  static at::Tensor softmax(const assay::AttentionInputs& in, const at::Tensor& scores) {
    const assay::Range range("softmax");
    const bool some_see_nothing = (in.causal || in.window > 0) && in.q.size(2) > in.k.size(2);
    return some_see_nothing ? at::_safe_softmax(scores, -1) : at::softmax(scores, -1);
  }

  // The queries of a group one behind another, so that k and v are read as they are: [batch,
  // kv_heads, group · seq_q, d_head].
  static at::Tensor by_group(const assay::AttentionInputs& in, const at::Tensor& q) {
    return q.reshape({q.size(0), in.k.size(1), -1, q.size(3)});
  }

  // [group · seq_q, seq_k]. Kept between calls, as a model keeps its mask; a captured step reads it
  // again.
  const at::Tensor& hidden(const assay::AttentionInputs& in) {
    const auto group = in.q.size(1) / in.k.size(1);
    at::Tensor& mask = hidden_[{in.q.size(2), in.k.size(2), group, in.causal, in.window}];
    if (!mask.defined() || mask.device() != in.q.device()) {
      mask = assay::hidden_keys(in);
      if (group > 1) mask = mask.repeat({group, 1});
    }
    return mask;
  }

  using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, std::int64_t>;
  std::map<Shape, at::Tensor> hidden_;
};

}  // namespace

ASSAY_PLUGIN(Naive, "naive", "Textbook attention: matrix products, explicit mask and softmax.")
