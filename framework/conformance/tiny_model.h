#pragma once

#include <assay/workload.h>

#include "model/transformer.h"
#include "training/training_state.h"

namespace assay::conformance {

inline constexpr const char* tiny_model_text =
    "2 layers, d_model 32, 2 heads, vocabulary 61, batch 2, seq 17";

CaseContext textbook_context(const at::Device& device);

// A model small enough for many runs, as a workload's program. Tokens and parameters can be
// replaced in place, as data and optimizer do.
class TinyModel final : public Program {
 public:
  explicit TinyModel(const CaseContext& context);

  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  // "logits", "loss", "grad.<parameter>" and, after a train step, "parameter.<parameter>".
  std::vector<NamedTensor> outputs(const std::string& pass) override;

  static const std::vector<std::string>& passes();

  void draw_tokens(std::uint64_t seed);
  void scale_parameters(double factor);
  std::int64_t skipped_steps() const { return state_.skipped_steps(); }
  // Copies the other's parameters and resets all training state.
  void restart_from(const TinyModel& other);

 private:
  void forward();

  at::Device device_;
  PrecisionPolicy precision_;
  Ops ops_;
  at::Tensor tokens_;
  at::Tensor targets_;
  model::Transformer model_;
  training::TrainingState state_;
  at::Tensor logits_;
  at::Tensor loss_;
};

}  // namespace assay::conformance
