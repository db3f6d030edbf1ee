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
  }

  double parameters() const { return value_of(parameters_, "parameters"); }

  // The last block's attention: its feed-forward, the last norm and the loss are still to come, and
  // beside its probabilities lie the scores; of math also the mask (bool and fp32) and q and k as
  // they were before they were scaled and copied.
  Moment last_attention() const {
    const double later = feed_forward_ + head_input_ + 4 * logits();
    const double s = batch_.seq_len;
    const double matrix = batch_.sequences * m_.heads * s * s;
    double temporaries = 0;
    if (by_.attention == "naive") temporaries = probability() * matrix;
    if (by_.attention == "math") {
      temporaries = 4 * matrix + 5 * s * s + 4 * 4 * batch_.tokens() * m_.d;
    }
    return {0, saved_bytes_ - later + casts() + temporaries};
  }

  // The loss: logits, in mixed precision their fp32 copy, and the log-probabilities, which are
  // among the saved.
  Moment loss() const { return {0, saved_bytes_ + casts() + logits() * (by_.mixed ? 6 : 4)}; }

  // Its backward: the gradients of the log-probabilities and of the logits beside them.
  Moment loss_backward() const { return {0, saved_bytes_ + casts() + logits() * 8}; }

  // The backward of the last block, of which no block's gradients are there yet.
  Moment last_block() const {
    const double ends = 4 * head_elements();
    return {ends, m_.layers * (block_bytes_ + block_casts()) + on_the_way()};
  }

  // The backward of the first block: all other gradients are there, but for the embedding's, which
  // a tied head has already made.
  Moment first_block() const {
    const double missing = m_.family == Family::swiglu ? head_elements() : m_.context * m_.d;
    return {4 * (parameters() - block_elements() - missing),
            block_bytes_ + block_casts() + on_the_way()};
  }

  // The embedding's backward: a tied table's gradient is added to the head's.
  Moment finished() const {
    const double added = m_.family == Family::gelu ? head_elements() : 0;
    return {4 * parameters(), 4 * (batch_.tokens() * m_.d + added)};
  }

 private:
  double logits() const { return batch_.tokens() * m_.vocab; }
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

  // Beside what a block has saved, its backward holds the residual's gradient and, of attention,
  // two more matrices of scores where the feed-forward's tensors are gone, or of the feed-forward
  // the gradients of its product and of both factors.
  double on_the_way() const {
    const double t = batch_.tokens();
    const bool scores = by_.attention == "math" || by_.attention == "naive";
    const double matrix =
        scores ? batch_.sequences * m_.heads * batch_.seq_len * batch_.seq_len : 0;
    const double gated = m_.family == Family::swiglu ? 4 : 2;
    const double in_attention = 2 * probability() * matrix - gated * element() * t * m_.f;
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
};

// A backward of its own begins with all that its forward saved, but not with its temporaries.
Moment most(const std::string& pass, const StepMoments& moments) {
  std::vector<Moment> met;
  if (pass != "backward") met = {moments.last_attention(), moments.loss()};
  if (pass != "forward") {
    met.insert(met.end(), {moments.loss_backward(), moments.last_block(), moments.first_block(),
                           moments.finished()});
  }
  return *std::ranges::max_element(met, {}, &Moment::bytes);
}

}  // namespace

Quantities peak_by_part(const Model& model, const Batch& batch, const Computing& computing,
                        const std::string& pass) {
  constexpr std::array passes = {"forward", "backward", "forward_backward", "train_step"};
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
