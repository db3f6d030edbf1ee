#pragma once

#include <assay/communication.h>

#include <vector>

namespace assay::training {

// Data parallelism by definition, for references: every gradient is the mean over the ranks, which
// all have one.
class MeanOfRanks final : public Communication {
 public:
  void attach(const TrainedModel& model, const Mesh& mesh, TraceHandle trace) override;
  void backward_finished() override;

 private:
  std::vector<at::Tensor> parameters_;
  Group group_;
};

}  // namespace assay::training
