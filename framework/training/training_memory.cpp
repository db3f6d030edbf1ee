// What a training step's memory and volume are on each rank, measured and predicted.

#include <assay/memory.h>

#include <optional>
#include <set>

#include "accounting/sharing.h"
#include "training/training_step.h"

namespace assay::training {

namespace {

// Bytes of memory that several tensors may share.
class Held {
 public:
  void add(const at::Tensor& tensor) {
    if (!tensor.defined() || !seen_.insert(tensor.storage().unsafeGetStorageImpl()).second) return;
    bytes_ += static_cast<double>(tensor.storage().nbytes());
  }
  double bytes() const { return bytes_; }

 private:
  std::set<const void*> seen_;
  double bytes_ = 0;
};

struct Counted {
  double parameters = 0;
  double narrow = 0;  // computed in 16 bit
};

Counted count(const TrainedModel& model) {
  Counted counted;
  for (const ModelParameter& parameter : model.parameters) {
    const auto elements = static_cast<double>(parameter.tensor.numel());
    counted.parameters += elements;
    if (c10::elementSize(parameter.compute) < 4) counted.narrow += elements;
  }
  return counted;
}

}  // namespace

void TrainingStep::record_memory(Recorder& recorder, std::int64_t building_peak,
                                 const std::function<at::Tensor()>& forward, const Ops& ops) {
  const at::Device device = model_.parameters.front().tensor.device();
  const auto moment = [&](const char* part) {
    recorder.sample("peak_memory", part, static_cast<double>(peak_memory(device)));
    reset_peak_memory(device);
  };
  recorder.sample("peak_memory", "after_init", static_cast<double>(building_peak));
  const LentWorks::Patience patience(*lent_);
  clear();
  state_.drop_moments();
  forget_sent();
  reset_peak_memory(device);
  backward(forward());
  moment("before_step");
  Held gradients;
  for (const ModelParameter& parameter : model_.parameters) gradients.add(parameter.tensor.grad());
  for (const Slice& slice : state_.slices()) gradients.add(slice.values.grad());
  optimize(ops);
  moment("after_step");
  record_state(recorder, gradients.bytes());
  record_volume(recorder);
}

void TrainingStep::record_state(Recorder& recorder, double gradient_bytes) const {
  Held parameters;
  for (const ModelParameter& parameter : model_.parameters) parameters.add(parameter.tensor);
  for (const Slice& slice : state_.slices()) {
    parameters.add(slice.values);
    parameters.add(slice.low_precision);
  }
  Held optimizer;
  for (const at::Tensor& tensor : state_.optimizer_state()) optimizer.add(tensor);
  recorder.sample("state_memory", "", parameters.bytes() + gradient_bytes + optimizer.bytes());
  recorder.sample("state_memory", "parameters", parameters.bytes());
  recorder.sample("state_memory", "gradients", gradient_bytes);
  recorder.sample("state_memory", "optimizer", optimizer.bytes());
  const auto sharing = communication_ ? communication_.sharing() : std::optional<Sharing>();
  if (!sharing) return;
  const Counted counted = count(model_);
  for (const auto& each :
       accounting::rank_state(counted.parameters, counted.narrow, group_.size, *sharing)) {
    recorder.sample("predicted_state_memory", each.name == "state" ? "" : each.name, each.value);
  }
}

void TrainingStep::record_volume(Recorder& recorder) const {
  double measured = 0;
  for (const Sent& sent : traffic_->sent()) {
    measured +=
        accounting::ring_bytes(sent.collective, static_cast<double>(sent.bytes), group_.size);
  }
  recorder.sample("communication_volume", "measured", measured);
  const auto sharing = communication_ ? communication_.sharing() : std::optional<Sharing>();
  if (!sharing) return;
  const Counted counted = count(model_);
  const auto volume =
      accounting::rank_volume(counted.parameters, counted.narrow, group_.size, *sharing);
  recorder.sample("communication_volume", "counted", volume.value);
}

std::vector<MetricInfo> TrainingStep::memory_metrics() {
  constexpr auto lower = Direction::lower_is_better;
  return {{"peak_memory", "byte", lower,
           "Most memory of this rank since the moment before: after_init, from the beginning of "
           "the model's making to its end; before_step, the optimizer's, of one more step; "
           "after_step."},
          {"state_memory", "byte", lower,
           "Memory that holds a rank's parameters, gradients and optimizer state, also as a sum."},
          {"predicted_state_memory", "byte", Direction::neither,
           "The same by the variant's definition, also as a sum.",
           "4 bytes a parameter, 4 a gradient, 8 of moments, divided by the ranks where they are "
           "sharded; 2 for copies in 16 bit"},
          {"communication_volume", "byte", lower,
           "Bytes that a rank sends in a step: `measured` from the calls made, `counted` by the "
           "variant's definition.",
           "all_reduce: 2 * (n - 1) / n of its bytes, others (n - 1) / n"}};
}

}  // namespace assay::training
