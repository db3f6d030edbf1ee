#pragma once

#include <assay/workload.h>

#include "model/training_state.h"
#include "model/transformer.h"

namespace assay::model_step {

struct Shape {
  std::int64_t batch = 0;
  std::int64_t seq_len = 0;
};

// A model, its training state and one batch of random tokens.
class ModelProgram final : public Program {
 public:
  // keep_logits: outputs() has the logits of passes with a backward, too, in which they then stay
  // in memory to the end.
  ModelProgram(const CaseContext& context, const model::ModelConfig& config, const Shape& shape,
               bool keep_logits = false);

  // Drops what the last run left; for "backward" runs the forward, for "train_step" makes the
  // optimizer's moments.
  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  // "logits" of inference and forward (else where kept), "loss" but for inference, and
  // "grad.<parameter>" (unscaled) after a backward.
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  // "parameters", and the "flops" of the pass's matrix products.
  std::vector<Count> counts(const std::string& pass) override;

  const std::vector<NamedTensor>& parameters() const { return model_.parameters(); }
  // Takes these parameters and forgets all training, in place.
  void restart_from(const std::vector<NamedTensor>& parameters);
  // Takes these tokens and targets, [batch, seq_len] int64, in place.
  void use_batch(const at::Tensor& tokens, const at::Tensor& targets);

 private:
  void forward(bool keep_logits = false);
  void backward();
  void train_step();
  void connect_communication();
  static model::TrainingState make_state(const model::Transformer& model,
                                         const CaseContext& context);

  CommunicationHandle communication_;
  Ops ops_;
  PrecisionPolicy precision_;
  at::Device device_;
  Shape shape_;
  bool keep_logits_;
  at::Tensor tokens_;   // [batch, seq_len]
  at::Tensor targets_;  // [batch, seq_len]
  model::Transformer model_;
  model::TrainingState state_;
  at::Tensor logits_;
  at::Tensor loss_;
};

}  // namespace assay::model_step
