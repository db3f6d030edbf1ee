#include <assay/communication.h>

#include <algorithm>
#include <optional>

#include "communication/parts/flat_parameters.h"
#include "communication/parts/parameter_means.h"

namespace {

using assay::Slice;
using assay::communication::InFlight;
using assay::communication::ParameterMeans;

// The optimizer's state by whole parameters: each belongs to one rank, which alone updates it and
// broadcasts its values. Gradients travel as with `overlap`.
class ShardedOptimizer final : public assay::Communication {
 public:
  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    group_ = mesh.world();
    assay::communication::start_from_rank_zero(model, group_);
    means_.emplace(model, group_);
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      parameters_.push_back(model.parameters[i].tensor);
      if (parameters_.back().requires_grad()) trained_.push_back(i);
    }
    assign();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Slice slice = assay::communication::replicated_slice(model.parameters[i], i);
      slice.replicated = slice.frozen;
      if (slice.frozen || owners_[i] == group_.rank) slices_.push_back(std::move(slice));
    }
  }

  void backward_begins(const at::Tensor&) override { means_->begin(); }
  void gradient_ready(std::size_t parameter) override { means_->ready(parameter); }
  void backward_finished() override { means_->finish(); }

  std::optional<std::vector<Slice>> slices() override { return slices_; }
  void sum_over_owners(at::Tensor& value) override {
    assay::communication::sum_over(group_, value);
  }
  void after_step() override {
    const at::NoGradGuard no_grad;
    InFlight broadcasts(group_);
    for (const std::size_t i : trained_) {
      broadcasts.start_broadcast(parameters_[i].detach(), owners_[i]);
    }
    broadcasts.finish();
  }

  std::optional<assay::Sharing> sharing() override {
    return {{.moments = true, .gradient_rounds = 2, .parameter_rounds = 1}};
  }
  bool wants_gradient_ready() const override { return true; }
  bool capturable() const override { return true; }

 private:
  // The largest first, each to the rank that has least so far.
  void assign() {
    owners_.assign(parameters_.size(), 0);
    std::vector<std::size_t> by_size = trained_;
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      return parameters_[a].numel() > parameters_[b].numel();
    });
    std::vector<std::int64_t> elements(static_cast<std::size_t>(group_.size), 0);
    for (const std::size_t i : by_size) {
      const auto least = std::min_element(elements.begin(), elements.end());
      *least += parameters_[i].numel();
      owners_[i] = static_cast<int>(least - elements.begin());
    }
  }

  std::vector<at::Tensor> parameters_;
  std::vector<std::size_t> trained_;
  std::vector<int> owners_;  // by parameter
  std::vector<Slice> slices_;
  assay::Group group_;
  std::optional<ParameterMeans> means_;
};

}  // namespace

ASSAY_PLUGIN(ShardedOptimizer, "sharded_optimizer",
             "Each rank updates whole parameters of its own and broadcasts them.")
