#pragma once

#include <assay/metric.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/record/recorder.h"

namespace assay::conformance {

// What is wrong with the metrics that a plugin declares; "" where nothing is.
std::string wrong_in_metrics(const std::vector<MetricInfo>& metrics);

// A recorder as a case has it, whose files lie in a temporary folder while it lives.
class TrialRecorder {
 public:
  TrialRecorder(const std::string& pass, const std::string& of,
                const std::vector<MetricInfo>& metrics);
  ~TrialRecorder();
  TrialRecorder(const TrialRecorder&) = delete;
  TrialRecorder& operator=(const TrialRecorder&) = delete;

  worker::CaseRecorder& recorder() { return *recorder_; }
  // The recorded series and files in words, sorted: "norm of layer 1", "file trace.json".
  std::vector<std::string> recorded();

 private:
  std::filesystem::path folder_;
  std::optional<worker::CaseRecorder> recorder_;
};

}  // namespace assay::conformance
