#include <algorithm>
#include <array>
#include <vector>

#include "accounting/saved.h"

namespace assay::accounting {

namespace {

// What is held at one moment, in bytes.
struct Moment {
  double gradients = 0;
  double activations = 0;
  double bytes() const { return gradients + activations; }
};

class StepMoments {
 public:
  StepMoments(const Model& m, const Batch& batch, const Computing& by)
      : m_(m), batch_(batch), by_(by), parameters_(parameters_by_part(m)) {
    const Quantities block = saved_by_block(m, batch, by);
    block_bytes_ = value_of(block, "block");
    feed_forward_ = value_of(block, "feed-forward");
    // The first norm's input is the embedding's output: nothing more lies before the blocks.
    const Quantities saved = saved_by_part(m, batch, by);
    head_input_ = value_of(saved, "last norm and head's input");
    saved_bytes_ = value_of(saved, "saved for backward");
    const auto layers = static_cast<int>(m.layers);
    group_ = by.checkpoint_every > 0 ? std::min(by.checkpoint_every, layers) : layers;
  }

  double parameters() const { return value_of(parameters_, "parameters"); }

  // Inference, of which nothing is saved: a block's attention or feed-forward, or the logits.
  Moment unsaved() const {
    return {0,
            casts() + std::max(unsaved_block(), element() * (batch_.tokens() * m_.d + logits()))};
  }

  // The last block's attention: its feed-forward, the last norm and the loss are still to come, and
  // beside its probabilities lie the scores; of math_libtorch also the mask (bool and fp32) and q
  // and k as they were before they were scaled and copied. Under checkpoints nothing of it is
  // saved.
  Moment last_attention() const {
    const double later = head_input_ + 4 * logits();
    if (by_.checkpoint_every > 0) return {0, saved_bytes_ - later + casts() + unsaved_block()};
    double temporaries = 0;
    if (by_.attention == "naive") temporaries = probability() * matrix();
    if (by_.attention == "math_libtorch") {
      temporaries =
          4 * matrix() + 5 * batch_.seq_len * batch_.seq_len + 4 * 4 * batch_.tokens() * m_.d;
    }
    return {0, saved_bytes_ - feed_forward_ - later + casts() + temporaries};
  }

  // The loss: logits, in mixed precision their fp32 copy, and the log-probabilities, which are
  // among the saved.
  Moment loss() const { return {0, saved_bytes_ + casts() + logits() * (by_.mixed ? 6 : 4)}; }

  // Its backward: the gradients of the log-probabilities and of the logits beside them.
  Moment loss_backward() const { return {0, saved_bytes_ + kept_casts() + logits() * 8}; }

  // The backward of each block, which holds what the blocks ahead of it in its group have saved,
  // the checkpoints of the groups up to its own, and the gradients of head and later blocks.
  // Without checkpoints all blocks are one group; the most is then held by the last or the first.
  std::vector<Moment> blocks_backward() const {
    std::vector<Moment> moments;
    for (int i = 0; i < static_cast<int>(m_.layers); ++i) {
      const double gradients = head_elements() + (m_.layers - 1 - i) * block_elements();
      const double saved = (i % group_ + 1) * (block_bytes_ + block_casts());
      moments.push_back({4 * gradients, checkpoints(i / group_ + 1) + saved + on_the_way()});
    }
    return moments;
  }

  // The embedding's backward: a tied table's gradient is added to the head's.
  Moment finished() const {
    const double added = m_.family == Family::gelu ? head_elements() : 0;
    return {4 * parameters(), 4 * (batch_.tokens() * m_.d + added)};
  }

 private:
  double logits() const { return batch_.tokens() * m_.vocab; }
  // Of a square of scores for each head, if attention makes them.
  double matrix() const {
    const bool made = by_.attention == "math_libtorch" || by_.attention == "naive";
    return made ? batch_.sequences * m_.heads * batch_.seq_len * batch_.seq_len : 0;
  }
  double element() const { return by_.mixed ? 2 : 4; }
  // Bytes of a score: softmax is in fp32, but for a CPU's autocast.
  double probability() const { return by_.attention == "naive" && by_.mixed && by_.on_cpu ? 2 : 4; }

  double head_elements() const { return m_.vocab * m_.d; }
  double block_elements() const {
    return (value_of(parameters_, "attention") + value_of(parameters_, "feed-forward")) / m_.layers;
  }
  // Autocast's 16-bit copies of the matrices, which live until their backward.
  double block_casts() const { return by_.mixed ? 2 * block_elements() : 0; }
  double casts() const { return by_.mixed ? m_.layers * block_casts() + 2 * head_elements() : 0; }
  // Those that the graph still holds behind the forward.
  double kept_casts() const { return copies_by_autocast(m_, by_).value; }

  double checkpoints(int groups) const {
    if (by_.checkpoint_every == 0) return 0;
    return (4 * groups + element() * (groups - 1)) * batch_.tokens() * m_.d;
  }

  // A block without a graph: the residual and the norm's output beside q, k, v, the scaled q and k
  // in their heads' order, two squares of scores and the mask (of math_libtorch in fp32 too), or
  // beside the feed-forward's tensors.
  double unsaved_block() const {
    const double t = batch_.tokens();
    const double gated = m_.family == Family::swiglu ? 4 : 2;
    double in_attention = element() * t * (m_.d + 2 * m_.d_kv);
    if (matrix() > 0) {
      const double masks = by_.attention == "math_libtorch" ? 6 : 1;
      in_attention += 2 * element() * t * m_.d + 2 * probability() * matrix() +
                      masks * batch_.seq_len * batch_.seq_len;
    }
    const double in_feed_forward = element() * t * gated * m_.f;
    return 2 * 4 * t * m_.d + std::max(in_attention, in_feed_forward);
  }

  // Beside what a block has saved, its backward holds the residual's gradient and, of attention,
  // two more matrices of scores where the feed-forward's tensors are gone, or of the feed-forward
  // the gradients of its product and of both factors.
  double on_the_way() const {
    const double t = batch_.tokens();
    const double gated = m_.family == Family::swiglu ? 4 : 2;
    const double in_attention = 2 * probability() * matrix() - gated * element() * t * m_.f;
    const double in_feed_forward = (gated - 1) * element() * t * m_.f;
    return 4 * t * m_.d + std::max({in_attention, in_feed_forward, 0.0});
  }

  const Model& m_;
  const Batch& batch_;
  const Computing& by_;
  Quantities parameters_;
  double block_bytes_ = 0;
  double feed_forward_ = 0;
  double head_input_ = 0;
  double saved_bytes_ = 0;
  int group_ = 1;  // blocks between two checkpoints
};

// A backward of its own begins with all that its forward saved, but not with its temporaries.
Moment most(const std::string& pass, const StepMoments& moments) {
  if (pass == "inference") return moments.unsaved();
  std::vector<Moment> met;
  if (pass != "backward") met = {moments.last_attention(), moments.loss()};
  if (pass != "forward") {
    const std::vector<Moment> blocks = moments.blocks_backward();
    met.insert(met.end(), blocks.begin(), blocks.end());
    met.insert(met.end(), {moments.loss_backward(), moments.finished()});
  }
  return *std::ranges::max_element(met, {}, &Moment::bytes);
}

}  // namespace

Quantities peak_by_part(const Model& model, const Batch& batch, const Computing& computing,
                        const std::string& pass) {
  constexpr std::array passes = {"inference", "forward", "backward", "forward_backward",
                                 "train_step"};
  if (model.family == Family::ffn || std::ranges::count(passes, pass) == 0) return {};
  const StepMoments moments(model, batch, computing);
  const double parameters = moments.parameters();
  const Moment held = most(pass, moments);
  const Values v = {{"P", parameters}};
  Quantities parts = {quantity("parameters", "byte", "4 * P", v, 4 * parameters)};
  parts.push_back({"gradients", "byte", "at the peak", "", held.gradients});
  if (pass == "train_step") {
    parts.push_back(quantity("optimizer", "byte", "2 * 4 * P", v, 8 * parameters));
  }
  parts.push_back({"activations", "byte", "at the peak", "", held.activations});
  if (computing.workspace > 0) {
    parts.push_back({"workspace", "byte", "of matrix products", "", computing.workspace});
  }
  parts.push_back(sum("peak", parts));
  return parts;
}

}  // namespace assay::accounting
