#pragma once

#include <assay/workload.h>

#include <optional>

#include "accounting/machine.h"
#include "accounting/saved.h"

namespace assay::model_step {

// What a pass needs by the accounting's formulas, to stand beside what is measured.
class Predictions {
 public:
  Predictions(const CaseContext& context, const model::ModelConfig& config,
              const accounting::Batch& batch);

  // "predicted_memory" of the pass's peak, "predicted_saved" of what it keeps for a backward and
  // "predicted_flops" of its matrix products, each by part, "activation_formula", and
  // "predicted_time" by the roofline of the case's accelerator, if it names one. Nothing unless the
  // case asks, for several ranks, parameters in 16 bit and passes that are no part of a training
  // step.
  void record(const std::string& pass, Recorder& recorder) const;

  // Whether it records anything.
  bool predicts() const { return predicts_; }

  static std::vector<MetricInfo> metrics();
  static ParameterInfo predict();
  static ParameterInfo accelerator();

 private:
  void record_saved(Recorder& recorder) const;
  void record_time(const std::string& pass, Recorder& recorder) const;

  accounting::Model model_;
  accounting::Batch batch_;
  bool predicts_ = true;
  accounting::Computing computing_;
  std::string precision_;
  std::optional<accounting::Machine> machine_;
};

}  // namespace assay::model_step
