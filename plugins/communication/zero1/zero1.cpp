#include <assay/communication.h>
#include <assay/flat_buffer.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "communication/parts/collectives.h"
#include "communication/parts/flat_parameters.h"
#include "communication/parts/ready_order.h"

namespace {

using assay::FlatBuffer;
using assay::Slice;
using assay::communication::InFlight;
using assay::communication::Item;
using assay::communication::ReadyOrder;

// Parameters and gradients that are whole on every rank, and this rank's slice of both.
struct Bucket {
  std::string name;
  Item parameters;  // in the order of the model
  std::vector<at::Tensor> tensors;
  FlatBuffer values;  // in the dtype that the model computes in
  FlatBuffer gradients;
  at::Tensor own;           // what the optimizer updates: a slice of `values` or wider
  at::Tensor own_gradient;  // where the mean is received: a slice of `gradients`
};

// Optimizer state in flat shards, the first stage of ZeRO (Rajbhandari et al. 2020): gradients are
// reduce-scattered a bucket at a time beside the backward, each rank updates its slice of every
// bucket, and the parameters are gathered again.
class Zero1 final : public assay::Communication {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {assay::communication::bucket_size_option(
                assay::communication::default_bucket_bytes,
                "Blocks share a bucket until their gradients have so many bytes."),
            assay::communication::gradients_option()};
  }
  explicit Zero1(const assay::Options& options)
      : bucket_bytes_(assay::integer_option(options, "bucket_size")),
        gradients_(assay::text_option(options, "gradients")) {}

  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    const at::NoGradGuard no_grad;
    flying_.emplace(mesh.world());
    assay::communication::start_from_rank_zero(model, flying_->group());
    std::vector<std::size_t> trained;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      if (model.parameters[i].tensor.requires_grad()) {
        trained.push_back(i);
      } else {
        slices_.push_back(assay::communication::replicated_slice(model.parameters[i], i));
      }
    }
    device_ = model.parameters.front().tensor.device();
    for (Item& parameters : divided(model)) add_bucket(model, std::move(parameters));
    order_.emplace(std::move(trained), model.parameters.size());
    arrange();
  }

  void backward_begins(const at::Tensor&) override { order_->begin(); }
  void gradient_ready(std::size_t parameter) override { order_->ready(parameter); }
  void backward_finished() override {
    const at::NoGradGuard no_grad;
    const bool agreed = order_->finish(flying_->group(), device_);
    flying_->finish();
    if (agreed) arrange();
  }

  std::optional<std::vector<Slice>> slices() override { return slices_; }
  void sum_over_owners(at::Tensor& value) override {
    assay::communication::sum_over(flying_->group(), value);
  }
  void after_step() override {
    const at::NoGradGuard no_grad;
    for (const Bucket& bucket : buckets_) {
      flying_->start_gather(bucket.values.values(), bucket.values.slice(flying_->group().rank));
    }
    flying_->finish();
  }

  std::optional<assay::Sharing> sharing() override {
    return {{.moments = true,
             .copies = true,
             .gradient_bytes = gradients_ == "bf16" ? 2.0 : 4.0,
             .gradient_rounds = 1,
             .parameter_rounds = 1}};
  }
  bool wants_gradient_ready() const override { return true; }
  bool capturable() const override { return true; }

 private:
  // Whole blocks, the last first, so that what lies side by side in the model (assay::joined) still
  // does. Parameters of a bucket are alike.
  std::vector<Item> divided(const assay::TrainedModel& model) const {
    using Kind = std::tuple<at::ScalarType, at::ScalarType>;
    std::vector<Item> divided;
    std::map<Kind, Item> open;
    std::map<Kind, std::int64_t> bytes;
    std::vector<bool> taken(model.parameters.size(), false);
    for (auto block = model.blocks.rbegin(); block != model.blocks.rend(); ++block) {
      for (const std::size_t i : block->parameters) {
        const auto& parameter = model.parameters[i];
        if (taken[i] || !parameter.tensor.requires_grad()) continue;
        taken[i] = true;
        const auto own = parameter.tensor.scalar_type();
        const Kind kind(own, parameter.compute);
        open[kind].push_back(i);
        bytes[kind] += parameter.tensor.numel() *
                       static_cast<std::int64_t>(
                           c10::elementSize(assay::communication::gradient_dtype(gradients_, own)));
      }
      for (auto& [kind, parameters] : open) {
        if (bytes[kind] < bucket_bytes_) continue;
        divided.push_back(std::exchange(parameters, {}));
        bytes[kind] = 0;
      }
    }
    for (auto& [kind, parameters] : open) {
      if (!parameters.empty()) divided.push_back(std::move(parameters));
    }
    for (Item& parameters : divided) std::sort(parameters.begin(), parameters.end());
    return divided;
  }

  void add_bucket(const assay::TrainedModel& model, Item parameters) {
    const assay::Group& group = flying_->group();
    const auto& first = model.parameters[parameters.front()];
    const auto options = first.tensor.options().requires_grad(false);
    Bucket bucket;
    bucket.name = "bucket " + std::to_string(buckets_.size());
    bucket.parameters = std::move(parameters);
    for (const std::size_t i : bucket.parameters) {
      bucket.tensors.push_back(model.parameters[i].tensor);
    }
    const auto sizes = assay::communication::sizes_of(bucket.tensors);
    const auto own_dtype = first.tensor.scalar_type();
    bucket.values = FlatBuffer(sizes, group.size, options.dtype(first.compute));
    const FlatBuffer wide =
        first.compute == own_dtype ? bucket.values : FlatBuffer(sizes, group.size, options);
    for (std::size_t k = 0; k < bucket.tensors.size(); ++k) {
      wide.part(k).copy_(bucket.tensors[k]);
      bucket.tensors[k].set_data(bucket.values.part(k));
    }
    const at::Tensor slice = bucket.values.slice(group.rank);
    const bool is_narrow = first.compute != own_dtype;
    if (is_narrow) bucket.values.values().copy_(wide.values());
    bucket.own = is_narrow ? wide.slice(group.rank).clone() : slice;
    const auto gradient_options =
        options.dtype(assay::communication::gradient_dtype(gradients_, own_dtype));
    bucket.gradients = FlatBuffer(sizes, group.size, gradient_options);
    bucket.own_gradient = bucket.gradients.slice(group.rank);
    slices_.push_back({.values = bucket.own,
                       .pieces = bucket.values.pieces(group.rank, bucket.parameters),
                       .buffer = bucket.name,
                       .first = group.rank * bucket.values.slice_elements(),
                       .low_precision = is_narrow ? slice : at::Tensor()});
    buckets_.push_back(std::move(bucket));
  }

  // Buckets in the order in which the last gradient of each becomes ready.
  void arrange() {
    std::map<std::size_t, std::size_t> place_of;
    for (std::size_t i = 0; i < order_->parameters().size(); ++i) {
      place_of[order_->parameters()[i]] = i;
    }
    const auto last = [&](const Bucket& bucket) {
      std::size_t latest = 0;
      for (const std::size_t parameter : bucket.parameters) {
        latest = std::max(latest, place_of[parameter]);
      }
      return latest;
    };
    launches_.clear();
    for (std::size_t b = 0; b < buckets_.size(); ++b) launches_.push_back(b);
    std::stable_sort(launches_.begin(), launches_.end(), [&](std::size_t a, std::size_t b) {
      return last(buckets_[a]) < last(buckets_[b]);
    });
    std::vector<Item> items;
    for (const std::size_t b : launches_) items.push_back(buckets_[b].parameters);
    order_->arrange(std::move(items),
                    [this](std::size_t item) { launch(buckets_[launches_[item]]); });
  }

  void launch(Bucket& bucket) {
    const at::NoGradGuard no_grad;
    assay::communication::move_gradients(bucket.tensors,
                                         assay::communication::parts_of(bucket.gradients));
    for (std::size_t k = 0; k < bucket.tensors.size(); ++k) {
      bucket.tensors[k].mutable_grad() = bucket.gradients.part(k);
    }
    flying_->start_mean_slice(bucket.own_gradient, bucket.gradients.values());
    bucket.own.mutable_grad() = bucket.own_gradient;
  }

  std::int64_t bucket_bytes_;
  std::string gradients_;
  at::Device device_ = at::kCPU;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> launches_;  // buckets in the order of their reduce-scatters
  std::vector<Slice> slices_;
  std::optional<InFlight> flying_;
  std::optional<ReadyOrder> order_;
};

}  // namespace

ASSAY_PLUGIN(Zero1, "zero1",
             "Optimizer state in flat shards: gradients are reduce-scattered, parameters gathered.")
