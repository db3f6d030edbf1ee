#include <numeric>

#include "report/findings/findings.h"

namespace assay::report {

Result<std::vector<Section>> findings_sections(const Records& records, const FindingsSpec& spec) {
  RecordIds all(records.size());
  std::iota(all.begin(), all.end(), 0u);
  List list;
  list.findings = true;
  for (const FindingSpec& finding : spec.findings) {
    const auto ids = select(records, all, finding.where);
    if (!ids) return tl::unexpected(ids.error());
    std::vector<std::string> sentences;
    if (finding.kind == "speedup") sentences = speedup_findings(records, *ids, finding);
    if (finding.kind == "scaling") sentences = scaling_findings(records, *ids, finding);
    if (finding.kind == "warmup") sentences = warmup_findings(records, *ids);
    if (finding.kind == "noise") sentences = noise_findings(records, *ids);
    if (finding.kind == "observers") sentences = observer_findings(records, *ids);
    if (finding.kind == "drift") sentences = drift_findings(records, *ids);
    if (finding.kind == "buckets") sentences = bucket_findings(records, *ids);
    if (finding.kind == "kernels") sentences = kernel_findings(records, *ids);
    if (finding.kind == "memory") sentences = memory_findings(records, *ids);
    if (finding.kind == "topology") sentences = topology_findings(records, *ids);
    if (finding.kind == "failures") sentences = failure_findings(records, *ids);
    list.items.insert(list.items.end(), sentences.begin(), sentences.end());
  }
  if (list.items.empty()) {
    return std::vector<Section>{Paragraph{"The results support none of the requested findings."}};
  }
  return std::vector<Section>{std::move(list)};
}

}  // namespace assay::report
