#pragma once

#include <assay/communication.h>
#include <assay/ops.h>
#include <assay/precision.h>

#include <functional>
#include <optional>
#include <vector>

namespace assay::training {

struct AdamWSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  double max_grad_norm = 0;  // 0: no limit
};

// Training state beside the parameters: gradients, moments, step counts, fp32 master copies and
// loss scale. Nothing but loss_scale() and skipped_steps() waits for the device, so a CUDA graph
// can capture a whole step.
class TrainingState {
 public:
  // Updates the slices that an attached communication variant names, without one all parameters.
  TrainingState(std::vector<at::Tensor> parameters, const PrecisionPolicy& policy,
                CommunicationHandle communication = nullptr, AdamWSettings settings = {});
  ~TrainingState();
  TrainingState(const TrainingState&) = delete;
  TrainingState& operator=(const TrainingState&) = delete;

  // Calls `ready(parameter)` when a backward has finished that gradient.
  void on_gradient_ready(std::function<void(std::size_t parameter)> ready);

  // Drops the gradients, or has the communication variant clear those that it keeps.
  void clear_gradients();
  // Runs autograd from loss · loss scale on the calling thread.
  void backward(const at::Tensor& loss);
  // Allocates moments, step counts and master copies, once. Otherwise step() does so, inside the
  // timed region.
  void make_moments();
  // Frees moments and step counts, their values with them; the master copies stay, which are what
  // is trained. Not once a step was captured.
  void drop_moments();
  // Moments, step counts and master copies, if they have been made.
  std::vector<at::Tensor> optimizer_state() const;
  // What the optimizer updates of a slice, with its state. Nothing before make_moments().
  struct Updated {
    at::Tensor value, first_moment, second_moment, step;
  };
  std::optional<Updated> updated(std::size_t slice) const;
  const AdamWSettings& settings() const { return settings_; }
  // Unscales the gradients, applies ops.optimizer to the slices that have one, and adapts the loss
  // scale: doubled after the policy's number of good steps, halved after an overflow on any rank.
  // Under loss scaling gradients in another dtype than what is updated are converted first, one
  // after the other; else the operation does so.
  void step(const Ops& ops);
  // Norm of all gradients over all ranks' slices, a float scalar on their device. All ranks call it
  // together.
  at::Tensor gradient_norm() const;
  // Resets moments, step counts, loss scale and skipped steps, and master copies to the parameters'
  // values, in place.
  void reset();

  // Copies of the parameters in another dtype, one a parameter, undefined where there is none: each
  // step refreshes them. Not with a communication variant that names slices.
  void keep_copies(const std::vector<at::Tensor>& copies);

  // 1 without loss scaling. Waits for the device.
  double loss_scale() const;
  // Steps since the beginning, or reset(), that an overflow has skipped. Waits for the device.
  std::int64_t skipped_steps() const;
  // What this rank updates, frozen slices left out.
  const std::vector<Slice>& slices() const { return slices_; }

 private:
  void make_masters();
  void unscale(const std::vector<at::Tensor>& gradients);
  // As the optimizer gets it.
  at::Tensor gradient_of(std::size_t slice);
  OptimizerInputs optimizer_inputs();
  void refresh_kept_gradients(const std::vector<at::Tensor>& wide) const;
  // In the order of the optimizer's inputs.
  std::vector<const Slice*> slices_with_gradients() const;
  // Of theirs, or of wide copies.
  at::Tensor norm_of(const std::vector<at::Tensor>& gradients) const;
  void refresh_kept_copies() const;
  at::Device device() const;

  std::vector<at::Tensor> parameters_;
  CommunicationHandle communication_;
  bool keeps_gradients_ = false;
  bool is_sharded_ = false;
  std::vector<Slice> slices_;
  AdamWSettings settings_;
  bool keeps_copies_ = false;
  bool hooked_ = false;
  bool wants_masters_;
  std::vector<at::Tensor> masters_;  // by slice; undefined where the slice itself is updated
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  std::vector<at::Tensor> steps_;
  double initial_scale_ = 1;
  std::int64_t growth_interval_;
  at::Tensor scale_;  // undefined without loss scaling; [1] float
  at::Tensor growth_tracker_;
  at::Tensor found_inf_;
  at::Tensor skipped_;  // [1] float
};

}  // namespace assay::training
