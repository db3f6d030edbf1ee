#pragma once

#include <assay/ops.h>
#include <assay/precision.h>

#include <functional>
#include <vector>

namespace assay::model {

struct AdamWSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

// What training keeps beside the parameters: gradients, moments, step counts and the loss scale.
// Nothing here waits for the device, so that a whole step can be captured in a CUDA graph.
class TrainingState {
 public:
  // `owned` are the indices of the parameters this rank updates; empty: all of them.
  TrainingState(std::vector<at::Tensor> parameters, std::vector<std::size_t> owned,
                const PrecisionPolicy& policy, AdamWSettings settings = {});
  ~TrainingState();
  TrainingState(const TrainingState&) = delete;
  TrainingState& operator=(const TrainingState&) = delete;

  // Calls `ready(parameter)` when a backward has finished that parameter's gradient.
  void on_gradient_ready(std::function<void(std::size_t parameter)> ready);

  // Sets every gradient to none.
  void clear_gradients();
  // Runs autograd from the loss, times the loss scale, on the calling thread.
  void backward(const at::Tensor& loss);
  // Allocates moments and step counts, once; step() does it too, but inside the timed region.
  void make_moments();
  // Unscales the gradients, lets ops.optimizer update the owned parameters that have a gradient,
  // and adapts the loss scale: doubled after 2000 good steps, halved after an overflow.
  void step(const Ops& ops);
  // Moments and step counts back to 0 and the loss scale to its first value, in place.
  void reset();

  // 1 without loss scaling. Waits for the device.
  double loss_scale() const;
  // Indices of the parameters updated here.
  const std::vector<std::size_t>& owned() const { return owned_; }

 private:
  void unscale(const std::vector<at::Tensor>& gradients);

  std::vector<at::Tensor> parameters_;
  std::vector<std::size_t> owned_;
  AdamWSettings settings_;
  bool hooked_ = false;
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  std::vector<at::Tensor> steps_;
  double initial_scale_ = 1;
  at::Tensor scale_;  // undefined without loss scaling; [1] float
  at::Tensor growth_tracker_;
  at::Tensor found_inf_;
};

}  // namespace assay::model
