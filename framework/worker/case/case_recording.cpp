#include "worker/case/case_recording.h"

#include <fmt/format.h>

#include <utility>

namespace assay::worker {

namespace {

std::string artefact_folder(const wire::CaseRequest& request, int rank) {
  if (request.artefact_folder.empty()) return {};
  return fmt::format("{}/{}", request.artefact_folder, rank);
}

}  // namespace

CaseRecording::CaseRecording(const wire::CaseRequest& request, int rank)
    : request_(request),
      recorder_(request.begin_s, artefact_folder(request, rank),
                RecordingLimits{.artefact_bytes = request.artefact_limit_bytes}) {}

void CaseRecording::begin_workload(const std::string& pass,
                                   const std::vector<MetricInfo>& metrics) {
  recorder_.begin(pass,
                  fmt::format("the workload '{}'", store::text_of(request_.parameters, "workload")),
                  metrics);
}

void CaseRecording::begin_observer(const std::string& pass, const std::string& name,
                                   const std::vector<MetricInfo>& metrics) {
  recorder_.begin(pass, fmt::format("the observer '{}'", name), metrics);
}

void CaseRecording::note(const std::string& what, Status status) {
  if (status.ok() || !first_failure_.ok()) return;
  first_failure_ = std::move(status);
  first_failure_.reason = fmt::format("recording {}: {}", what, first_failure_.reason);
}

void CaseRecording::record(ProgramBoundary& program, const std::string& pass,
                           std::vector<store::Series>& series) {
  const FileSizeLimit limit(request_.artefact_limit_bytes);
  note(pass, program.record(pass, recorder_));
  note(pass, guarded([&] { recorder_.check_files(); }));
  for (store::Series& recorded : recorder_.take_series()) series.push_back(std::move(recorded));
}

}  // namespace assay::worker
