#include <ATen/TensorIndexing.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <assay/reference.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace assay::reference {

namespace {

constexpr std::int64_t drawn_queries = 128;
constexpr std::int64_t drawn_keys = 64;
constexpr double most_operations_on_cpu = 0x1p36;
constexpr double most_operations_on_device = 0x1p42;
constexpr double not_seen = -std::numeric_limits<double>::infinity();

// Float64, 16 MiB on a CPU. A GPU would launch more kernels than it computes: 128 MiB there.
std::int64_t scores_at_once(at::Device device) {
  return std::int64_t{1} << (device.is_cpu() ? 21 : 24);
}

// One head's tensors on the device that computes.
struct OneHead {
  at::Tensor q, k, v, dout;  // [seq, d_head], in their own dtype; dout may be undefined
};

// [rows, keys] bool, true where a query must not see a key; undefined where all see all. places: of
// the queries among the keys.
at::Tensor unseen_by(const AttentionInputs& in, const at::Tensor& places, std::int64_t keys) {
  if (!in.causal && in.window <= 0) return {};
  const auto at_key = at::arange(keys, places.options()).unsqueeze(0);
  const auto of_query = places.unsqueeze(1);
  if (in.window <= 0) return at_key > of_query;
  const auto outside = at_key <= of_query - in.window;
  return in.causal ? outside.logical_or(at_key > of_query)
                   : outside.logical_or(at_key >= of_query + in.window);
}

at::Tensor masked_scores(const AttentionInputs& in, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& hidden) {
  auto scores = at::matmul(q, k.t()).mul_(in.scale);
  if (hidden.defined()) scores.masked_fill_(hidden, not_seen);
  return scores;
}

class Sampler {
 public:
  Sampler(const AttentionInputs& in, const at::Tensor& dout, at::Device device)
      : in_(in),
        dout_(dout),
        device_(device),
        heads_(in.q.size(1)),
        seq_q_(in.q.size(2)),
        seq_k_(in.k.size(2)),
        group_(heads_ / in.k.size(1)) {}

  void add_queries(const at::Tensor& rows, AttentionSample& made) const {
    std::vector<at::Tensor> out, dq, textbook_out, textbook_dq, rounding_dq;
    const auto* row = rows.const_data_ptr<std::int64_t>();
    const auto* const end = row + rows.numel();
    while (row != end) {
      const std::int64_t head = *row / seq_q_;
      std::vector<std::int64_t> of_head;
      for (; row != end && *row / seq_q_ == head; ++row) of_head.push_back(*row % seq_q_);
      const auto which = at::tensor(of_head, at::TensorOptions(at::kLong)).to(device_);
      const OneHead one = head_at(head / heads_, head % heads_, which);
      const auto places = which + (seq_k_ - seq_q_);
      const KeyBlocks blocks(*this, one, places);
      const auto lse = lse_of(blocks);
      out.push_back(out_of(one, blocks, lse));
      if (one.dout.defined()) {
        auto gradient = gradient_of(one, blocks, lse, out.back());
        dq.push_back(std::move(gradient.dq));
        rounding_dq.push_back(std::move(gradient.rounding));
      }
      add_textbook(one, places, textbook_out, textbook_dq);
    }
    made.queries = rows;
    made.out = at::cat(out);
    made.textbook_out = at::cat(textbook_out);
    if (dq.empty()) return;
    made.dq = at::cat(dq);
    made.textbook_dq = at::cat(textbook_dq);
    if (rounds()) made.rounding_dq = at::cat(rounding_dq);
  }

  bool can_afford_keys() const {
    const double operations = 8.0 * static_cast<double>(group_) * static_cast<double>(seq_q_) *
                              static_cast<double>(seq_k_) * static_cast<double>(in_.q.size(3));
    return operations <= (device_.is_cpu() ? most_operations_on_cpu : most_operations_on_device);
  }

  // keys: of that head of k.
  void add_keys(std::int64_t batch, std::int64_t kv_head, const at::Tensor& keys,
                AttentionSample& made) const {
    const auto places = keys.to(device_);
    const auto all = at::arange(seq_q_, at::TensorOptions(at::kLong).device(device_));
    for (std::int64_t of = 0; of < group_; ++of) {
      const OneHead one = head_at(batch, kv_head * group_ + of, all);
      const auto k = one.k.to(at::kDouble), v = one.v.to(at::kDouble);
      const std::int64_t step = std::max<std::int64_t>(1, scores_at_once(device_) / seq_k_);
      for (std::int64_t first = 0; first < seq_q_; first += step) {
        const auto count = std::min(step, seq_q_ - first);
        const auto q = one.q.narrow(0, first, count).to(at::kDouble);
        const auto d = one.dout.narrow(0, first, count).to(at::kDouble);
        const auto hidden = unseen_by(in_, all.narrow(0, first, count) + (seq_k_ - seq_q_), seq_k_);
        auto p = masked_scores(in_, q, k, hidden);
        p = at::exp(p - at::logsumexp(p, -1, /*keepdim=*/true)).nan_to_num_(0.0);
        const auto row_sums = (d * at::matmul(p, v)).sum(-1, /*keepdim=*/true);
        const auto of_keys = p.index_select(1, places);
        const auto v_drawn = v.index_select(0, places);
        const auto ds = of_keys * (at::matmul(d, v_drawn.t()) - row_sums);
        add_to(made.dk, at::matmul(ds.t(), q).mul_(in_.scale));
        add_to(made.dv, at::matmul(of_keys.t(), d));
        if (rounds()) {
          const Squares own = squares_of(k.index_select(0, places), v_drawn);
          add_to(made.rounding_dk, squared_rounding(of_keys.t(), ds.t(), own, squares_of(q, d)));
        }
        add_textbook_keys(one, places, {first, count}, hidden, made);
      }
    }
    if (rounds()) made.rounding_dk = made.rounding_dk.sqrt() * (rounding() * in_.scale);
    made.keys = keys + (batch * in_.k.size(1) + kv_head) * seq_k_;
  }

 private:
  struct Block {
    at::Tensor scores, k, v;  // float64
  };

  // Some queries' scores in blocks of keys whose scores, k and v take scores_at_once() each, since
  // those of a million keys take gibibytes. A single block is computed once.
  class KeyBlocks {
   public:
    KeyBlocks(const Sampler& sampler, const OneHead& one, const at::Tensor& places)
        : sampler_(sampler),
          one_(one),
          places_(places),
          q_(one.q.to(at::kDouble)),
          step_(std::max<std::int64_t>(
              1, scores_at_once(sampler.device_) / std::max(q_.size(0), q_.size(1)))) {
      if (step_ >= sampler.seq_k_) only_ = block_at(0);
    }

    template <class Work>  // work(Block)
    void for_each(Work work) const {
      if (only_) return work(*only_);
      for (std::int64_t first = 0; first < sampler_.seq_k_; first += step_) work(block_at(first));
    }

    const at::Tensor& q() const { return q_; }  // float64

   private:
    Block block_at(std::int64_t first) const {
      const auto count = std::min(step_, sampler_.seq_k_ - first);
      const auto k = one_.k.narrow(0, first, count).to(at::kDouble);
      const auto v = one_.v.narrow(0, first, count).to(at::kDouble);
      // Places count from the block's first key.
      const auto hidden = unseen_by(sampler_.in_, places_ - first, count);
      return {masked_scores(sampler_.in_, q_, k, hidden), k, v};
    }

    const Sampler& sampler_;
    const OneHead& one_;
    const at::Tensor& places_;
    at::Tensor q_;
    std::int64_t step_;
    std::optional<Block> only_;
  };

  static at::Tensor lse_of(const KeyBlocks& blocks) {
    std::vector<at::Tensor> of_blocks;
    blocks.for_each(
        [&](const Block& block) { of_blocks.push_back(at::logsumexp(block.scores, -1)); });
    return at::logsumexp(at::stack(of_blocks), 0).unsqueeze(-1);
  }

  static at::Tensor out_of(const OneHead& one, const KeyBlocks& blocks, const at::Tensor& lse) {
    auto out = at::zeros({one.q.size(0), one.v.size(1)}, lse.options());
    blocks.for_each([&](const Block& block) {
      out += at::matmul(at::exp(block.scores - lse).nan_to_num_(0.0), block.v);
    });
    return out;
  }

  struct QueryGradient {
    at::Tensor dq, rounding;  // rounding: a number a row, undefined where !rounds()
  };

  QueryGradient gradient_of(const OneHead& one, const KeyBlocks& blocks, const at::Tensor& lse,
                            const at::Tensor& out) const {
    const auto d = one.dout.to(at::kDouble);
    const auto row_sums = (d * out).sum(-1, /*keepdim=*/true);
    QueryGradient made = {at::zeros(one.q.sizes(), lse.options()), {}};
    at::Tensor squares;
    blocks.for_each([&](const Block& block) {
      const auto p = at::exp(block.scores - lse).nan_to_num_(0.0);
      const auto ds = p * (at::matmul(d, block.v.t()) - row_sums);
      made.dq += at::matmul(ds, block.k);
      if (!rounds()) return;
      const Squares own = squares_of(blocks.q(), d);
      add_to(squares, squared_rounding(p, ds, own, squares_of(block.k, block.v)));
    });
    made.dq.mul_(in_.scale);
    if (rounds()) made.rounding = squares.sqrt() * (rounding() * in_.scale);
    return made;
  }

  // ‖·‖² of each row [rows, 1] of what a side has of the scores and of dP: q and dO, or k and v.
  struct Squares {
    at::Tensor scores, dp;
  };
  static Squares squares_of(const at::Tensor& of_scores, const at::Tensor& of_dp) {
    const auto squared = [](const at::Tensor& rows) {
      return at::linalg_vector_norm(rows, 2, at::IntArrayRef{-1}, /*keepdim=*/true).square_();
    };
    return {squared(of_scores), squared(of_dp)};
  }

  // Squares of what rounding makes of dq = dS k [own], in units of (ε scale)²; of dk with both
  // sides exchanged. A score is known to ε scale ‖q‖ ‖k‖, which changes its weight by as large a
  // share, and an element of dP to ε ‖dO‖ ‖v‖. p and ds: [own, other].
  at::Tensor squared_rounding(const at::Tensor& p, const at::Tensor& ds, const Squares& own,
                              const Squares& other) const {
    const auto by_scores =
        at::matmul(ds.square(), other.scores.square()) * own.scores * (in_.scale * in_.scale);
    const auto by_dp = at::matmul(p.square(), other.dp * other.scores) * own.dp;
    return (by_scores + by_dp).squeeze(-1);
  }

  // Narrower inputs' results are rounded by more than what they are computed from.
  bool rounds() const { return in_.q.element_size() >= 4; }
  double rounding() const { return in_.q.scalar_type() == at::kDouble ? 0x1p-53 : 0x1p-24; }

  struct Rows {
    std::int64_t first, count;
  };

  static void add_to(at::Tensor& sum, const at::Tensor& part) {
    sum = sum.defined() ? sum + part : part;
  }

  // Of some queries, in the inputs' dtype: [rows, keys].
  at::Tensor textbook_weights(const OneHead& one, const Rows& rows,
                              const at::Tensor& hidden) const {
    const auto q = one.q.narrow(0, rows.first, rows.count);
    return at::softmax(masked_scores(in_, q, one.k, hidden), -1).nan_to_num_(0.0);
  }

  // Gradients of the scores, from those of the weights.
  static at::Tensor textbook_dscores(const OneHead& one, const Rows& rows, const at::Tensor& p) {
    const auto dp = at::matmul(one.dout.narrow(0, rows.first, rows.count), one.v.t());
    return p * (dp - (dp * p).sum(-1, /*keepdim=*/true));
  }

  // A softmax takes whole rows: a few at a time.
  void add_textbook(const OneHead& one, const at::Tensor& places, std::vector<at::Tensor>& out,
                    std::vector<at::Tensor>& dq) const {
    const std::int64_t step = std::max<std::int64_t>(1, scores_at_once(device_) / seq_k_);
    for (std::int64_t first = 0; first < one.q.size(0); first += step) {
      const Rows rows = {first, std::min(step, one.q.size(0) - first)};
      const auto hidden = unseen_by(in_, places.narrow(0, first, rows.count), seq_k_);
      const auto p = textbook_weights(one, rows, hidden);
      out.push_back(at::matmul(p, one.v));
      if (!one.dout.defined()) continue;
      dq.push_back(at::matmul(textbook_dscores(one, rows, p), one.k).mul_(in_.scale));
    }
  }

  // Parts are added up in float64: a textbook product rounds its sum once.
  void add_textbook_keys(const OneHead& one, const at::Tensor& places, const Rows& rows,
                         const at::Tensor& hidden, AttentionSample& made) const {
    const auto p = textbook_weights(one, rows, hidden);
    const auto ds = textbook_dscores(one, rows, p).index_select(1, places);
    const auto q = one.q.narrow(0, rows.first, rows.count);
    const auto dout = one.dout.narrow(0, rows.first, rows.count);
    add_to(made.textbook_dk, at::matmul(ds.t(), q).mul_(in_.scale).to(at::kDouble));
    add_to(made.textbook_dv, at::matmul(p.index_select(1, places).t(), dout).to(at::kDouble));
  }

  OneHead head_at(std::int64_t batch, std::int64_t head, const at::Tensor& queries) const {
    const auto rows = [&](const at::Tensor& tensor) {
      const auto of_head = tensor[batch][head];
      return of_head.index_select(0, queries.to(of_head.device())).to(device_);
    };
    return {rows(in_.q), in_.k[batch][head / group_].to(device_),
            in_.v[batch][head / group_].to(device_), dout_.defined() ? rows(dout_) : at::Tensor()};
  }

  const AttentionInputs& in_;
  const at::Tensor& dout_;
  at::Device device_;
  std::int64_t heads_, seq_q_, seq_k_, group_;
};

}  // namespace

AttentionSample attention_sample(const AttentionInputs& given, const at::Tensor& dout,
                                 std::uint64_t seed, at::Device device) {
  const at::NoGradGuard no_grad;
  AttentionInputs in = given;
  for (at::Tensor* tensor : {&in.q, &in.k, &in.v}) *tensor = tensor->detach();
  const Sampler sampler(in, dout, device);
  AttentionSample made;
  sampler.add_queries(drawn_below(in.q.size(0) * in.q.size(1) * in.q.size(2), drawn_queries, seed),
                      made);
  if (!dout.defined() || !sampler.can_afford_keys()) return made;
  const auto heads = in.k.size(0) * in.k.size(1);
  const auto head = drawn_below(heads, 1, seed + 1).item<std::int64_t>();
  sampler.add_keys(head / in.k.size(1), head % in.k.size(1),
                   drawn_below(in.k.size(2), drawn_keys, seed + 2), made);
  return made;
}

at::Tensor rows_of_heads(const at::Tensor& tensor, const at::Tensor& rows) {
  const auto heads = tensor.size(1), seq = tensor.size(2);
  const auto place = rows.to(tensor.device());
  const auto head = place.div(seq, "floor");
  return tensor.detach().index(
      {head.div(heads, "floor"), head.remainder(heads), place.remainder(seq)});
}

}  // namespace assay::reference
