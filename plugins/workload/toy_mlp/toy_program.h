#pragma once

#include <assay/workload.h>

#include <memory>
#include <optional>
#include <vector>

#include "training/looks.h"
#include "training/parameter_watch.h"

namespace assay::toy_mlp {

struct Shape {
  std::int64_t width = 0;
  std::int64_t batch = 0;  // on each rank
};

constexpr std::int64_t features = 10;
constexpr std::int64_t classes = 5;

// features → width → width → classes with ReLU between and cross-entropy behind. A block a matrix.
class ToyProgram final : public Program {
 public:
  // draws: otherwise restart_from() must follow.
  ToyProgram(const CaseContext& context, const Shape& shape, bool draws = true);

  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  // "loss" and, after a backward, "grad.<parameter>".
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  std::vector<Count> counts(const std::string& pass) override;
  std::vector<ProgramInput> inputs(const std::string& pass) override;
  void expect_look(const std::string& pass) override;
  // With the same model at the timed shape, in float64 up to a width of 4096, else in fp32.
  Verification look(const std::string& pass, const Look& look) override;
  void record(const std::string& pass, Recorder& recorder) override;

  // All ranks call these together.
  std::vector<NamedTensor> whole_outputs(const std::string& pass);
  std::vector<NamedTensor> whole_parameters() const { return step_.whole_parameters(); }
  void restart_from(const std::vector<NamedTensor>& parameters);

 private:
  static TrainedModel make_model(const CaseContext& context, const Shape& shape, bool draws);
  void forward();
  std::vector<NamedTensor> seen_outputs(const std::string& pass) const;
  double parameters() const;
  double look_bytes() const;
  // Loss and gradients of this rank's batch from those parameters, in fp64 or fp32.
  std::vector<NamedTensor> reference_outputs(const std::vector<NamedTensor>& parameters,
                                             const std::string& pass) const;

  CaseContext context_;
  TraceHandle trace_;
  Ops ops_;
  PrecisionPolicy precision_;
  Shape shape_;
  at::Tensor x_;        // [batch, features]
  at::Tensor targets_;  // [batch]
  TrainedModel model_;
  training::TrainingStep step_;
  std::optional<training::ParameterWatch> watch_;  // of what nobody has restarted
  at::Tensor loss_;
  training::KeptStart start_;
};

}  // namespace assay::toy_mlp
