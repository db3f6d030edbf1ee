#include <assay/communication.h>
#include <assay/flat_buffer.h>
#include <assay/gradient_place.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "communication/bucketed/leaf_uses.h"
#include "communication/parts/collectives.h"
#include "communication/parts/flat_parameters.h"
#include "communication/parts/ready_order.h"

namespace {

using assay::FlatBuffer;
using assay::Slice;
using assay::communication::InFlight;
using assay::communication::Item;
using assay::communication::ReadyOrder;

// Gradients that travel together. The optimizer reads them where they were received.
struct Bucket {
  Item parameters;
  std::vector<at::Tensor> tensors;
  FlatBuffer gradients;
  std::vector<at::Tensor> parts;  // of `gradients`
};

// Gradients in buckets, in the order in which they become ready: one all-reduce or exchange a
// bucket, beside the rest of the backward. Each gradient is written once, into its bucket, by the
// product itself where it takes the place that it is offered. Where the model computes in 16 bit
// and gradients travel in 32 that is the cast to fp32, which autocast would do: the model's
// parameters are then 16-bit copies of the fp32 ones that the optimizer updates.
class Bucketed final : public assay::Communication {
 public:
  static std::vector<assay::ParameterInfo> options() {
    assay::ParameterInfo size = assay::communication::bucket_size_option(
        0,
        "A bucket is sent as soon as its gradients have so many bytes; 0: a twenty-fourth of all, "
        "at least 25 MB.");
    size.minimum = 0;
    return {std::move(size), assay::communication::gradients_option(), exchange_option()};
  }
  explicit Bucketed(const assay::Options& options)
      : bucket_bytes_(assay::integer_option(options, "bucket_size")),
        gradients_(assay::text_option(options, "gradients")),
        copies_(assay::text_option(options, "exchange") == "copies") {}

  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    reductions_.emplace(mesh.world());
    copies_ = copies_ && reductions_->group().size > 1;
    assay::communication::start_from_rank_zero(model, reductions_->group());
    std::vector<std::size_t> trained;
    for (const auto& parameter : model.parameters) {
      if (parameter.tensor.requires_grad()) trained.push_back(parameters_.size());
      parameters_.push_back(parameter.tensor);
      updated_.push_back(parameter.tensor);
      dtypes_.push_back(
          assay::communication::gradient_dtype(gradients_, parameter.tensor.scalar_type()));
    }
    siblings_ = siblings_of(parameters_);
    compute_in_low_precision(model);
    order_.emplace(std::move(trained), parameters_.size());
    arrange();
  }

  void backward_begins(const at::Tensor& loss) override {
    if (is_outdated_) arrange();
    order_->begin();
    offer_places(loss);
  }
  void gradient_ready(std::size_t parameter) override { order_->ready(parameter); }
  void backward_finished() override {
    const at::NoGradGuard no_grad;
    withdraw_places();
    is_outdated_ = order_->finish(reductions_->group(), parameters_.front().device());
    reductions_->finish();
  }

  std::optional<std::vector<Slice>> slices() override {
    if (low_precision_.empty()) return {};
    return slices_;
  }

  std::optional<assay::Sharing> sharing() override {
    return {
        {.copies = true, .gradient_bytes = gradients_ == "bf16" ? 2.0 : 4.0, .gradient_rounds = 2}};
  }
  bool wants_gradient_ready() const override { return true; }
  bool capturable() const override { return true; }

 private:
  static assay::ParameterInfo exchange_option() {
    return assay::choice_parameter(
        "exchange", "all_reduce", {"all_reduce", "copies"},
        "copies: ranks exchange slices, average their own and hand it on, over NCCL by the GPUs' "
        "copy engines where GPUs reach each other, so that no multiprocessor waits for another "
        "GPU.");
  }

  // Few buckets cost few waits for other ranks, but the last one is sent when nothing hides it.
  std::int64_t bucket_bytes() const {
    if (bucket_bytes_ > 0) return bucket_bytes_;
    constexpr std::int64_t most_buckets = 24;
    std::int64_t bytes = 0;
    for (const std::size_t parameter : order_->parameters()) bytes += bytes_of(parameter);
    return std::max(assay::communication::default_bucket_bytes, bytes / most_buckets);
  }
  std::int64_t bytes_of(std::size_t parameter) const {
    return parameters_[parameter].numel() *
           static_cast<std::int64_t>(c10::elementSize(dtypes_[parameter]));
  }

  // Of each parameter, those that share its memory, which one product may have as one weight.
  static std::vector<Item> siblings_of(const std::vector<at::Tensor>& parameters) {
    std::map<const void*, Item> by_memory;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      by_memory[parameters[i].storage().data()].push_back(i);
    }
    std::vector<Item> siblings;
    for (const at::Tensor& parameter : parameters) {
      siblings.push_back(by_memory[parameter.storage().data()]);
    }
    return siblings;
  }

  // In the order of the model: what lies side by side in it (assay::joined) still does.
  void compute_in_low_precision(const assay::TrainedModel& model) {
    const at::NoGradGuard no_grad;
    std::map<at::ScalarType, std::vector<std::size_t>> narrower;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      const auto& parameter = model.parameters[i];
      slices_.push_back(assay::communication::replicated_slice(parameter, i));
      if (parameter.tensor.requires_grad() && parameter.compute != parameter.tensor.scalar_type()) {
        narrower[parameter.compute].push_back(i);
      }
    }
    for (const auto& [dtype, indices] : narrower) {
      std::vector<at::Tensor> tensors;
      for (const std::size_t i : indices) tensors.push_back(parameters_[i]);
      const auto options = tensors.front().options().requires_grad(false).dtype(dtype);
      const FlatBuffer buffer(assay::communication::sizes_of(tensors), 1, options);
      for (std::size_t k = 0; k < indices.size(); ++k) {
        Slice& slice = slices_[indices[k]];
        slice.values = tensors[k].detach();
        slice.low_precision = buffer.part(k);
        slice.low_precision.copy_(slice.values);
        tensors[k].set_data(buffer.part(k));
        updated_[indices[k]] = slice.values;
      }
      low_precision_.push_back(buffer);
    }
  }

  // Fills buckets in the order of the parameters; siblings stay together, in the model's order.
  void arrange() {
    is_outdated_ = false;
    buckets_.clear();
    const std::int64_t full = bucket_bytes();
    std::int64_t bytes = 0;
    std::vector<bool> waiting(parameters_.size(), false), is_in(parameters_.size(), false);
    for (const std::size_t parameter : order_->parameters()) waiting[parameter] = true;
    for (const std::size_t first : order_->parameters()) {
      if (is_in[first]) continue;
      const bool is_full = bytes >= full;
      if (buckets_.empty() || is_full ||
          dtypes_[buckets_.back().parameters.front()] != dtypes_[first]) {
        buckets_.emplace_back();
        bytes = 0;
      }
      for (const std::size_t parameter : siblings_[first]) {
        if (!waiting[parameter] || dtypes_[parameter] != dtypes_[first]) continue;
        is_in[parameter] = true;
        buckets_.back().parameters.push_back(parameter);
        buckets_.back().tensors.push_back(parameters_[parameter]);
        bytes += bytes_of(parameter);
      }
    }
    std::vector<Item> items;
    for (const Bucket& bucket : buckets_) items.push_back(bucket.parameters);
    order_->arrange(std::move(items), [this](std::size_t item) { launch(buckets_[item]); });
  }

  // To what computes gradients in the dtype that they travel in, or could compute them in fp32.
  void offer_places(const at::Tensor& loss) {
    if (!offers_) return;
    std::vector<int> uses;
    const auto is_used_once = [&](std::size_t parameter) {
      if (uses.empty()) uses = assay::communication::leaf_uses(loss, parameters_);
      return uses[parameter] == 1;
    };
    for (const Bucket& bucket : buckets_) {
      for (std::size_t k = 0; k < bucket.parts.size(); ++k) {
        if (bucket.tensors[k].grad().defined()) continue;
        const at::ScalarType wanted = bucket.parts[k].scalar_type();
        const bool fits = bucket.tensors[k].scalar_type() == wanted ||
                          (wanted == at::kFloat && is_used_once(bucket.parameters[k]));
        if (!fits) continue;
        assay::offer_gradient_place(bucket.tensors[k], bucket.parts[k]);
        offered_.push_back(bucket.tensors[k]);
      }
    }
  }

  // Where nobody takes a place none is offered again.
  void withdraw_places() {
    if (offered_.empty()) return;
    offers_ = false;
    for (const at::Tensor& leaf : std::exchange(offered_, {})) {
      if (!assay::take_gradient_place(leaf).defined()) offers_ = true;
    }
  }

  FlatBuffer buffer_for(const Bucket& bucket) const {
    const auto options = bucket.tensors.front().options().requires_grad(false).dtype(
        dtypes_[bucket.parameters.front()]);
    const auto sizes = assay::communication::sizes_of(bucket.tensors);
    if (!copies_) return FlatBuffer(sizes, 1, options);
    const assay::Group& group = reductions_->group();
    return FlatBuffer(sizes, group.size, [&](std::int64_t elements) {
      return assay::communication::exchanged_zeros(group, elements, options);
    });
  }

  // One place for what each bucket receives: they are exchanged one after another.
  at::Tensor received(const at::Tensor& values) {
    at::Tensor& place = received_[values.scalar_type()];
    if (!place.defined() || place.size(0) < values.size(0)) {
      place = at::Tensor();
      place = assay::communication::exchanged_zeros(reductions_->group(), values.size(0),
                                                    values.options());
    }
    return place.narrow(0, 0, values.size(0));
  }

  void launch(Bucket& bucket) {
    const at::NoGradGuard no_grad;
    if (bucket.parts.empty()) {
      bucket.gradients = buffer_for(bucket);
      bucket.parts = assay::communication::parts_of(bucket.gradients);
    }
    assay::communication::move_gradients(bucket.tensors, bucket.parts);
    for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
      updated_[bucket.parameters[k]].mutable_grad() = bucket.parts[k];
    }
    const at::Tensor& values = bucket.gradients.values();
    if (copies_) {
      reductions_->start_mean_by_copies(values, received(values));
    } else {
      reductions_->start_mean(values);
    }
  }

  std::int64_t bucket_bytes_;
  std::string gradients_;
  bool copies_;
  std::vector<Item> siblings_;
  std::vector<at::Tensor> parameters_;  // the model's
  std::vector<at::Tensor> updated_;     // the same, or the fp32 values that it has copies of
  std::vector<at::ScalarType> dtypes_;  // of the gradients as they travel
  std::vector<FlatBuffer> low_precision_;
  std::vector<Slice> slices_;
  std::vector<Bucket> buckets_;
  std::map<at::ScalarType, at::Tensor> received_;
  std::vector<at::Tensor> offered_;  // whose gradients have been offered a place
  bool offers_ = true;
  bool is_outdated_ = false;  // the ranks have agreed on another order
  std::optional<InFlight> reductions_;
  std::optional<ReadyOrder> order_;
};

}  // namespace

ASSAY_PLUGIN(Bucketed, "bucketed",
             "Gradients in buckets, each sent with one all-reduce as soon as it is complete.")
