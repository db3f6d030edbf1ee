#pragma once

#include <assay/workload.h>

#include <map>
#include <memory>
#include <optional>

#include "model/transformer.h"
#include "predictions.h"
#include "timed_look.h"
#include "training/looks.h"
#include "training/parameter_watch.h"

namespace assay::model_step {

struct Shape {
  std::int64_t batch = 0;
  std::int64_t seq_len = 0;
};

class ModelProgram final : public Program {
 public:
  // keep_logits: outputs() also has the logits of passes with a backward, which then stay in memory
  // to the end. draws: otherwise restart_from() must follow.
  ModelProgram(const CaseContext& context, const model::ModelConfig& config, const Shape& shape,
               bool keep_logits = false, bool draws = true);

  // Drops the last run's results. Runs the forward for "backward" and makes the optimizer's moments
  // for "train_step".
  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  // "logits" of inference and forward (others with keep_logits), "loss" except for inference, and
  // unscaled "grad.<parameter>" after a backward, or where gradients are sharded this rank's as
  // "grad.<buffer>".
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  // "parameters", "flops" of the pass's matrix products, and what the last run sent, by collective.
  std::vector<Count> counts(const std::string& pass) override;
  // Tokens and targets.
  std::vector<ProgramInput> inputs(const std::string& pass) override;
  void expect_look(const std::string& pass) override;
  Verification look(const std::string& pass, const Look& look) override;
  // Leaves what the communication variant records, on one rank the predictions and, after train
  // steps under loss scaling, how many of them were skipped and the scale.
  void record(const std::string& pass, Recorder& recorder) override;

  // All ranks call these together. The second is outputs() with every rank's gradients whole.
  std::vector<NamedTensor> whole_parameters() const { return step_.whole_parameters(); }
  std::vector<NamedTensor> whole_outputs(const std::string& pass);
  // Copies these parameters, in the model's order, in place and resets all training state.
  void restart_from(const std::vector<NamedTensor>& parameters);
  std::int64_t skipped_steps() const { return step_.state().skipped_steps(); }
  // Copies these tokens and targets, [batch, seq_len] int64, in place.
  void use_batch(const at::Tensor& tokens, const at::Tensor& targets);

 private:
  void forward(bool keep_logits = false);
  void forward_backward();
  void set_checkpoints(int every);
  void record_residual_stream(Recorder& recorder) const;
  std::vector<NamedTensor> results() const;
  std::vector<NamedTensor> seen_outputs(const std::string& pass) const;
  double look_bytes(const std::string& pass) const;

  CaseContext context_;
  Predictions predictions_;
  TraceHandle trace_;
  Ops ops_;
  PrecisionPolicy precision_;
  at::Device device_;
  Shape shape_;
  bool keep_logits_;
  bool records_memory_;
  std::int64_t building_peak_ = 0;  // bytes, where memory is recorded
  at::Tensor tokens_;               // [batch, seq_len]
  at::Tensor targets_;              // [batch, seq_len]
  model::Transformer model_;
  training::TrainingStep step_;
  std::optional<training::ParameterWatch> watch_;  // of what nobody has restarted
  at::Tensor logits_;
  at::Tensor loss_;
  training::KeptStart start_;
  std::map<std::string, UsualErrors> usual_;  // by pass
};

}  // namespace assay::model_step
