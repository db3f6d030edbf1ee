#include <ATen/ops/_foreach_copy.h>
#include <assay/communication.h>
#include <assay/flat_buffer.h>

#include <map>

#include "communication/parts/collectives.h"

namespace {

using assay::FlatBuffer;
using assay::communication::InFlight;

// All gradients of one dtype, one after another.
struct Gathered {
  std::vector<at::Tensor> parameters;
  FlatBuffer buffer;
};

// One all-reduce of all gradients, which are copied into a buffer for it after the backward and
// stay there as views.
class Flat final : public assay::Communication {
 public:
  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    group_ = mesh.world();
    assay::communication::start_from_rank_zero(model, group_);
    std::map<at::ScalarType, Gathered> by_dtype;
    for (const auto& parameter : model.parameters) {
      if (!parameter.tensor.requires_grad()) continue;
      by_dtype[parameter.tensor.scalar_type()].parameters.push_back(parameter.tensor);
    }
    for (auto& [dtype, gathered] : by_dtype) gathered_.push_back(std::move(gathered));
  }

  void backward_finished() override {
    if (group_.size == 1) return;
    const at::NoGradGuard no_grad;
    InFlight reductions(group_);
    for (Gathered& gathered : gathered_) {
      fill(gathered);
      reductions.start_mean(gathered.buffer.values());
    }
    reductions.finish();
  }

  std::optional<assay::Sharing> sharing() override { return {{.gradient_rounds = 2}}; }
  bool capturable() const override { return true; }

 private:
  static void fill(Gathered& gathered) {
    if (gathered.buffer.elements() == 0) {
      std::vector<std::vector<std::int64_t>> sizes;
      for (const at::Tensor& each : gathered.parameters) sizes.push_back(each.sizes().vec());
      const auto options = gathered.parameters.front().options().requires_grad(false);
      gathered.buffer = FlatBuffer(sizes, 1, options);
    }
    std::vector<at::Tensor> to, from;
    for (std::size_t k = 0; k < gathered.parameters.size(); ++k) {
      at::Tensor place = gathered.buffer.part(k);
      at::Tensor& gradient = gathered.parameters[k].mutable_grad();
      if (gradient.defined()) {
        to.push_back(place);
        from.push_back(std::move(gradient));
      } else {
        place.zero_();
      }
      gradient = std::move(place);
    }
    if (!to.empty()) at::_foreach_copy_(to, from);
  }

  assay::Group group_;
  std::vector<Gathered> gathered_;
};

}  // namespace

ASSAY_PLUGIN(Flat, "flat", "One all-reduce of all gradients in one buffer, after the backward.")
