#pragma once

#include <assay/workload.h>

#include <functional>
#include <memory>
#include <vector>

#include "model/block_hooks.h"
#include "training/counted_backend.h"
#include "training/shards.h"
#include "training/training_state.h"

namespace assay::training {

// A rank's training step of any model: the backward, the optimizer, and the calls of the case's
// communication variant around them, each in its phase. Without a variant ranks train apart.
class TrainingStep {
 public:
  // Attaches the variant, which may give the parameters other memory.
  TrainingStep(TrainedModel model, const CaseContext& context, AdamWSettings settings = {});

  // For the model's forward.
  const model::BlockHooks& hooks() const { return hooks_; }

  // Drops the gradients, and what is left of the last step's collectives.
  void clear();
  // What the ranks send from now on is the step's.
  void forget_sent() { traffic_->clear(); }
  // Otherwise the first optimize() allocates the optimizer's state.
  void make_moments() { state_.make_moments(); }
  void backward(const at::Tensor& loss);
  void optimize(const Ops& ops);

  // "grad.<parameter>" of what this rank updates, or of slices "grad.<buffer>". Loss scaling is
  // undone, unless the optimizer has done so.
  std::vector<NamedTensor> gradients(bool optimized) const;
  // All ranks call these together. Parameters and gradients in their own shapes.
  std::vector<NamedTensor> whole_gradients(bool optimized) const;
  std::vector<NamedTensor> whole_parameters() const;
  // For a look, the same as they lie where this rank has them whole. Otherwise they are gathered,
  // for which each rank needs so many bytes of its device.
  std::vector<NamedTensor> seen_gradients(bool optimized) const;
  std::vector<NamedTensor> seen_parameters() const;
  // What every rank has whole, without gathering: parameters, but for a variant that may free them
  // between blocks, and the slices that all ranks update.
  std::vector<NamedTensor> replicas() const;
  std::int64_t gathering_bytes() const { return shards_.gathering_bytes(); }
  bool gathers() const { return !shards_.are_whole(); }
  // Copies these parameters, in the model's order, in place and resets all training state.
  void restart_from(const std::vector<NamedTensor>& parameters);

  // "sent_calls" and "sent_bytes" of the last step, by collective.
  std::vector<Count> sent() const;
  static std::vector<MetricInfo> metrics();

  // Makes one more step and records, of this rank: "peak_memory" while the model was built
  // (building_peak bytes), from then until the optimizer, and from there to the end of its first
  // step (which makes its moments); "state_memory" of parameters, gradients and optimizer, and
  // "communication_volume", the last two also as the accounting predicts them. forward: gives the
  // loss. All ranks call it together.
  void record_memory(Recorder& recorder, std::int64_t building_peak,
                     const std::function<at::Tensor()>& forward, const Ops& ops);
  static std::vector<MetricInfo> memory_metrics();

  CommunicationHandle communication() const { return communication_; }
  const TrainingState& state() const { return state_; }
  const TrainedModel& model() const { return model_; }

 private:
  Shards attach(const CaseContext& context);
  // Where gradients do not travel there is no such phase.
  TraceScope communication_phase() const;
  NamedTensor unscaled(const std::string& name, const at::Tensor& gradient, bool optimized) const;

  void record_state(Recorder& recorder, double gradient_bytes) const;
  void record_volume(Recorder& recorder) const;

  TrainedModel model_;
  Group group_;
  CommunicationHandle communication_;
  TraceHandle trace_;
  bool gradients_travel_ = false;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  std::shared_ptr<LentWorks> lent_ = std::make_shared<LentWorks>();
  model::BlockHooks hooks_;
  Shards shards_;
  TrainingState state_;
};

}  // namespace assay::training
