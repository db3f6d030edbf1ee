#pragma once

#include <string>
#include <vector>

#include "measure/clock.h"
#include "measure/tracer.h"
#include "store/records/records.h"
#include "worker/record/recorder.h"

namespace assay::worker {

// The times of a pass's phases, sample by sample.
class PhaseTimes {
 public:
  // Adds the last call's; its work must be done. Keeps the first failure.
  void add(const measure::Tracer& tracer);
  // One series `time` a phase, or one with the failure.
  void report(const std::string& pass, const std::string& clock,
              std::vector<store::Series>& series) const;
  const std::vector<std::string>& phases() const { return phases_; }

 private:
  std::vector<std::string> phases_;
  std::vector<std::vector<double>> samples_s_;
  Status failure_;
};

// Calls the pass once for the memory of its phases and once for its spans, which go to `recorder`.
void trace_pass(const std::string& pass, const measure::Call& call, const at::Device& device,
                const PhaseTimes& times, measure::Tracer& tracer, CaseRecorder& recorder,
                std::vector<store::Series>& series);

}  // namespace assay::worker
