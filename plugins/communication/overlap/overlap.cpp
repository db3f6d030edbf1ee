#include <assay/communication.h>

#include <optional>

#include "communication/parts/parameter_means.h"

namespace {

// An all-reduce for each parameter as soon as its gradient is complete, while the backward goes on.
class Overlap final : public assay::Communication {
 public:
  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    assay::communication::start_from_rank_zero(model, mesh.world());
    means_.emplace(model, mesh.world());
  }

  void backward_begins(const at::Tensor&) override { means_->begin(); }
  void gradient_ready(std::size_t parameter) override { means_->ready(parameter); }
  void backward_finished() override { means_->finish(); }

  std::optional<assay::Sharing> sharing() override { return {{.gradient_rounds = 2}}; }
  bool wants_gradient_ready() const override { return true; }
  bool capturable() const override { return true; }

 private:
  std::optional<assay::communication::ParameterMeans> means_;
};

}  // namespace

ASSAY_PLUGIN(Overlap, "overlap",
             "An all-reduce for each parameter's gradient, beside the rest of the backward.")
