#pragma once

#include <vector>

#include "model_program.h"

namespace assay::model_step {

inline constexpr const char* against_fp32_pass = "against_fp32";

// The metrics of that pass.
std::vector<MetricInfo> against_fp32_metrics();

// The program of a case, with a pass that has no clock: trains it and the same model in fp32 from
// the same parameters on the same batch, and records how far its loss and gradients are from fp32's
// at each step. Attention and norm of the other are textbook ones.
class ComparedProgram final : public Program {
 public:
  ComparedProgram(const CaseContext& context, const model::ModelConfig& config, const Shape& shape);

  void before(const std::string& pass) override;
  void run(const std::string& pass) override;
  std::vector<NamedTensor> outputs(const std::string& pass) override;
  std::vector<Count> counts(const std::string& pass) override;
  void record(const std::string& pass, Recorder& recorder) override;
  std::vector<ProgramInput> inputs(const std::string& pass) override {
    if (pass == against_fp32_pass) return {};
    return program_.inputs(pass);
  }
  void expect_look(const std::string& pass) override { program_.expect_look(pass); }
  Verification look(const std::string& pass, const Look& look) override {
    return program_.look(pass, look);
  }

 private:
  void compare(Recorder& recorder);

  CaseContext context_;
  model::ModelConfig config_;
  Shape shape_;
  ModelProgram program_;
};

}  // namespace assay::model_step
