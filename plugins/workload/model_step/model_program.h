#pragma once

#include <assay/workload.h>

#include "model/training_state.h"
#include "model/transformer.h"

namespace assay::model_step {

struct Shape {
  std::int64_t batch = 0;
  std::int64_t seq_len = 0;
};

class ModelProgram final : public Program {
 public:
  // keep_logits: outputs() also has the logits of passes with a backward, which then stay in memory
  // to the end.
  ModelProgram(const CaseContext& context, const model::ModelConfig& config, const Shape& shape,
               bool keep_logits = false);

  // Drops the last run's results. Runs the forward for "backward" and makes the optimizer's moments
  // for "train_step".
  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  // "logits" of inference and forward (others with keep_logits), "loss" except for inference, and
  // unscaled "grad.<parameter>" after a backward.
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  // "parameters", and "flops" of the pass's matrix products.
  std::vector<Count> counts(const std::string& pass) override;

  const std::vector<NamedTensor>& parameters() const { return model_.parameters(); }
  // Copies these parameters in place and resets all training state.
  void restart_from(const std::vector<NamedTensor>& parameters);
  // Copies these tokens and targets, [batch, seq_len] int64, in place.
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
