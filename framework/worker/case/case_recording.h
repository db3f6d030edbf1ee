#pragma once

#include <assay/workload.h>

#include <string>
#include <vector>

#include "wire/messages.h"
#include "worker/record/recorder.h"

namespace assay::worker {

// What the program of a case and its observers record, within the request's limits. A failure
// leaves the times of the pass as they are: the first one is kept for the case's own status.
class CaseRecording {
 public:
  // Artefacts of the rank have a folder of their own. The request outlives it.
  CaseRecording(const wire::CaseRequest& request, int rank);

  CaseRecorder& recorder() { return recorder_; }
  const Status& first_failure() const { return first_failure_; }

  void begin_workload(const std::string& pass, const std::vector<MetricInfo>& metrics);
  void begin_observer(const std::string& pass, const std::string& name,
                      const std::vector<MetricInfo>& metrics);
  // what: "forward", "forward under kernels".
  void note(const std::string& what, Status status);
  // Adds to `series` what the program has to say of the pass.
  void record(ProgramBoundary& program, const std::string& pass,
              std::vector<store::Series>& series);

 private:
  const wire::CaseRequest& request_;
  CaseRecorder recorder_;
  Status first_failure_;
};

}  // namespace assay::worker
