#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <assay/attention.h>

#include <algorithm>
#include <limits>
#include <optional>

// FlashAttention-2 in plain tensor operations, to be read beside a kernel and to check it: Dao
// 2023, algorithms 1 (forward) and 2 (backward). No matrix of seq_q × seq_k is ever in memory. Sums
// are in fp32, for fp64 in fp64.
//
// Heads of q are seen as [kv_heads, group], so that a head of k and v meets all that read it: a
// tile of queries is [batch, kv_heads, group, rows, d_head], one of keys [batch, kv_heads, 1, keys,
// d_head].
namespace {

using assay::AttentionGradients;
using assay::AttentionInputs;
using assay::AttentionOutput;

constexpr std::int64_t tile = 128;  // queries, and keys

constexpr double nothing = -std::numeric_limits<double>::infinity();

struct Span {
  std::int64_t first, count;
};

class Tiles {
 public:
  explicit Tiles(const AttentionInputs& in)
      : in_(in),
        wide_(in.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
        queries_(in.q.size(2)),
        keys_(in.k.size(2)) {}

  template <class Work>
  static void for_each(std::int64_t count, Work work) {
    for (std::int64_t first = 0; first < count; first += tile) {
      work(Span{first, std::min(tile, count - first)});
    }
  }
  std::int64_t queries() const { return queries_; }
  std::int64_t keys() const { return keys_; }

  // Of a tensor like q, and of one like k.
  at::Tensor of_queries(const at::Tensor& like_q, Span rows) const {
    return grouped(like_q).narrow(3, rows.first, rows.count).to(wide_);
  }
  at::Tensor of_keys(const at::Tensor& like_k, Span keys) const {
    return like_k.narrow(2, keys.first, keys.count).unsqueeze(2).to(wide_);
  }
  // [batch, heads, …] as [batch, kv_heads, group, …]: a view.
  at::Tensor grouped(const at::Tensor& like_q) const {
    return like_q.unflatten(1, {in_.k.size(1), in_.q.size(1) / in_.k.size(1)});
  }
  at::Tensor empty(at::IntArrayRef sizes) const {
    return at::zeros(sizes, in_.q.options().dtype(wide_));
  }
  at::Tensor column(const at::Tensor& q, double value) const {  // one number a row
    return at::full({q.size(0), q.size(1), q.size(2), q.size(3), 1}, value, q.options());
  }

  // Query i stands at the key i + keys − queries. Whether some of these queries see some of these
  // keys, and, where not all see all, which do not: [rows, keys].
  bool meet(Span rows, Span keys) const {
    const std::int64_t first = rows.first + keys_ - queries_, last = first + rows.count - 1;
    const std::int64_t end = keys.first + keys.count - 1;
    if (in_.causal && keys.first > last) return false;
    if (in_.window == 0) return true;
    return keys.first - last < in_.window && first - end < in_.window;
  }
  std::optional<at::Tensor> hidden(Span rows, Span keys) const {
    if (!in_.causal && in_.window == 0) return {};
    const auto numbers = [&](std::int64_t first, std::int64_t count) {
      return at::arange(first, first + count, in_.q.options().dtype(at::kLong));
    };
    const auto place = numbers(rows.first + keys_ - queries_, rows.count).unsqueeze(1);
    const auto key = numbers(keys.first, keys.count);
    if (in_.window == 0) return key > place;
    const auto beyond = (place - key).abs() >= in_.window;
    return in_.causal ? beyond.logical_or(key > place) : beyond;
  }

  // scale · q kᵀ + mask: [batch, kv_heads, group, rows, keys].
  at::Tensor scores(const at::Tensor& q, Span rows, const at::Tensor& k, Span keys) const {
    auto scores = at::matmul(q * in_.scale, k.transpose(-2, -1));
    if (const auto unseen = hidden(rows, keys)) scores.masked_fill_(*unseen, nothing);
    return scores;
  }

 private:
  const AttentionInputs& in_;
  at::ScalarType wide_;
  std::int64_t queries_, keys_;
};

class FlashReference final : public assay::Attention {
 public:
  bool grouped() const override { return true; }
  bool windowed() const override { return true; }
  bool has_backward() const override { return true; }

  at::Tensor forward(const AttentionInputs& in) override { return forward_with_lse(in).out; }

  // Algorithm 1: a row keeps the maximum m of its scores so far, the sum l of exp(score − m) and
  // the output o that belongs to them; a larger maximum scales l and o by exp(old − new).
  AttentionOutput forward_with_lse(const AttentionInputs& in) override {
    const Tiles tiles(in);
    const at::Tensor out = at::empty_like(in.q);
    const at::Tensor lse = tiles.empty({in.q.size(0), in.q.size(1), in.q.size(2), 1});
    Tiles::for_each(tiles.queries(), [&](Span rows) {
      const auto q = tiles.of_queries(in.q, rows);
      auto m = tiles.column(q, nothing);
      auto l = tiles.column(q, 0);
      auto o = tiles.empty(q.sizes());
      Tiles::for_each(tiles.keys(), [&](Span keys) {
        if (!tiles.meet(rows, keys)) return;
        const auto s = tiles.scores(q, rows, tiles.of_keys(in.k, keys), keys);
        const auto larger = at::maximum(m, s.amax(-1, /*keepdim=*/true));
        // A row that has seen no key yet has no maximum to subtract.
        const auto base = larger.masked_fill(larger == nothing, 0);
        const auto p = (s - base).exp_();
        const auto shrink = (m - base).exp_();
        l = l * shrink + p.sum(-1, /*keepdim=*/true);
        o = o * shrink + at::matmul(p, tiles.of_keys(in.v, keys));
        m = larger;
      });
      const auto narrow = [&](const at::Tensor& whole) {
        return tiles.grouped(whole).narrow(3, rows.first, rows.count);
      };
      narrow(out).copy_(o / l.masked_fill(l == 0, 1));  // 0 where a query sees no key
      narrow(lse).copy_(m + l.log());
    });
    return {out, lse.squeeze(-1)};
  }

  // Algorithm 2: P comes back from the scores and their lse. With D = rowsum(dO ∘ O):
  //   dV = Pᵀ dO,   dS = P ∘ (dO Vᵀ − D),   dQ = scale · dS K,   dK = scale · dSᵀ Q.
  AttentionGradients backward(const AttentionInputs& in, const at::Tensor& out,
                              const at::Tensor& lse, const at::Tensor& dout) override {
    const Tiles tiles(in);
    const auto dq = tiles.empty(in.q.sizes()), dk = tiles.empty(in.k.sizes()),
               dv = tiles.empty(in.v.sizes());
    // A query that sees no key has P = 0.
    const auto known = lse.masked_fill(lse == nothing, -nothing).unsqueeze(-1);
    Tiles::for_each(tiles.queries(), [&](Span rows) {
      const auto q = tiles.of_queries(in.q, rows), d_o = tiles.of_queries(dout, rows);
      const auto d = (d_o * tiles.of_queries(out, rows)).sum(-1, /*keepdim=*/true);
      const auto l = tiles.of_queries(known, rows);
      auto rows_of_dq = tiles.grouped(dq).narrow(3, rows.first, rows.count);
      Tiles::for_each(tiles.keys(), [&](Span keys) {
        if (!tiles.meet(rows, keys)) return;
        const auto k = tiles.of_keys(in.k, keys), v = tiles.of_keys(in.v, keys);
        const auto p = (tiles.scores(q, rows, k, keys) - l).exp_();
        const auto ds = p * (at::matmul(d_o, v.transpose(-2, -1)) - d) * in.scale;
        rows_of_dq.add_(at::matmul(ds, k));
        // The heads of a group add up.
        dk.narrow(2, keys.first, keys.count).add_(at::matmul(ds.transpose(-2, -1), q).sum(2));
        dv.narrow(2, keys.first, keys.count).add_(at::matmul(p.transpose(-2, -1), d_o).sum(2));
      });
    });
    return {dq.to(in.q.scalar_type()), dk.to(in.k.scalar_type()), dv.to(in.v.scalar_type())};
  }

  // The log-sum-exp of each query, kept by every block of a model, the scores of a tile of queries
  // with a tile of keys, several times, and with a backward three gradients in fp32.
  static std::string memory_estimate() {
    return "batch * heads * (seq_len * 4 * if(workload == model_step && runs_backward > 0, layers, "
           "1) + (6 * 4 * 128 + if(runs_backward > 0, 3 * 4 * seq_len, 0)) * if(workload == "
           "attention, "
           "d_head, 128))";
  }
};

}  // namespace

ASSAY_PLUGIN(FlashReference, "flash_reference",
             "FlashAttention-2 in plain tensor operations, tile by tile: to read and to check by.")
