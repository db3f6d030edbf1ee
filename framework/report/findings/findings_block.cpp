#include <algorithm>
#include <iterator>
#include <numeric>

#include "report/findings/findings.h"

namespace assay::report {
namespace {

constexpr std::size_t most_claims = 7;

Findings plain(std::vector<std::string> sentences) {
  Findings findings;
  for (std::string& sentence : sentences) findings.push_back({std::move(sentence)});
  return findings;
}

Findings of_kind(const Records& records, const RecordIds& ids, const FindingSpec& spec) {
  const Centre centre = spec.centre.value_or(Centre::median);
  const std::string& kind = spec.kind;
  if (kind == "speedup") return speedup_findings(records, ids, spec);
  if (kind == "scaling") return scaling_findings(records, ids, spec);
  if (kind == "fits") return plain(fit_findings(records, ids, spec));
  if (kind == "warmup") return plain(warmup_findings(records, ids, centre));
  if (kind == "noise") return plain(noise_findings(records, ids));
  if (kind == "observers") return observer_findings(records, ids);
  if (kind == "drift") return plain(drift_findings(records, ids));
  if (kind == "buckets") return plain(bucket_findings(records, ids));
  if (kind == "kernels") return kernel_findings(records, ids);
  if (kind == "memory") return plain(memory_findings(records, ids));
  if (kind == "topology") return plain(topology_findings(records, ids));
  if (kind == "failures") return failure_findings(records, ids);
  return {};
}

// The largest effects first, then what has no ratio in the order of the spec, failures last.
void rank(Findings& findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    if (a.always != b.always) return b.always;
    return a.effect > b.effect;
  });
}

List details_of(const Findings& shown, const Findings& more) {
  List details;
  for (const Finding& finding : more) details.items.push_back(finding.claim);
  for (const Findings* all : {&shown, &more}) {
    for (const Finding& finding : *all) {
      if (!finding.detail.empty()) details.items.push_back(finding.detail);
    }
  }
  return details;
}

}  // namespace

Result<std::vector<Section>> findings_sections(const Records& records, const FindingsSpec& spec) {
  RecordIds all(records.size());
  std::iota(all.begin(), all.end(), 0u);
  Findings findings;
  for (const FindingSpec& finding : spec.findings) {
    const auto ids = select(records, all, finding.where);
    if (!ids) return tl::unexpected(ids.error());
    std::ranges::move(of_kind(records, *ids, finding), std::back_inserter(findings));
  }
  if (findings.empty()) {
    return std::vector<Section>{Paragraph{"The results support none of the requested findings."}};
  }
  rank(findings);
  const auto always = std::ranges::find(findings, true, &Finding::always);
  const auto ranked = static_cast<std::size_t>(always - findings.begin());
  Findings more;
  if (ranked > most_claims) {
    more.assign(findings.begin() + most_claims, always);
    findings.erase(findings.begin() + most_claims, always);
  }
  std::vector<Section> sections;
  List claims;
  claims.findings = true;
  for (const Finding& finding : findings) {
    claims.items.push_back(finding.claim);
    claims.marks.insert(finding.marks.begin(), finding.marks.end());
  }
  sections.emplace_back(std::move(claims));
  List details = details_of(findings, more);
  if (details.items.empty()) return sections;
  sections.emplace_back(FoldBegin{"Details of the findings"});
  sections.emplace_back(std::move(details));
  sections.emplace_back(FoldEnd{});
  return sections;
}

}  // namespace assay::report
