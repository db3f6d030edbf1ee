#include "worker/compose/verification.h"

#include <fmt/format.h>

#include <assay/reference.h>
#include <algorithm>

namespace assay::worker {

Status status_of(const Verification& verification) {
  if (!verification.checked || verification.error <= verification.tolerance) return {};
  return {Outcome::wrong,
          fmt::format("{} differs from the reference by {:.3g}, more than {:.3g}",
                      verification.worst, verification.error, verification.tolerance)};
}

Status CaseVerification::verify(WorkloadBoundary& workload, const CaseContext& context,
                                const std::string& pass, Moment moment) {
  Verification verification;
  Status status = workload.verify(context, pass, verification);
  if (status.ok() && verification.checked) {
    found_[pass][moment] = verification;
    status = status_of(verification);
  }
  if (!status.ok() && moment == Moment::after) status.reason = "after timing: " + status.reason;
  return status;
}

std::optional<double> CaseVerification::error(const std::string& pass) const {
  const auto found = found_.find(pass);
  if (found == found_.end()) return {};
  const Verification* worst = nullptr;
  for (const auto& [moment, verification] : found->second) {
    const bool worse = worst == nullptr || verification.error * worst->tolerance >
                                               worst->error * verification.tolerance;
    if (worse) worst = &verification;
  }
  return worst->error;
}

double CaseVerification::tolerance(const Composition& composition, const std::string& pass) const {
  double tolerance = reference::tolerance(composition.context.precision);
  const auto found = found_.find(pass);
  if (found == found_.end()) return tolerance;
  for (const auto& [moment, verification] : found->second) {
    tolerance = std::max(tolerance, verification.tolerance);
  }
  return tolerance;
}

void CaseVerification::tell(const std::string& pass, store::VerificationFacts& facts) const {
  const auto found = found_.find(pass);
  if (found == found_.end()) return;
  for (const auto& [moment, verification] : found->second) {
    (moment == Moment::before ? facts.before : facts.after) = {
        verification.error, verification.tolerance, verification.worst};
  }
}

}  // namespace assay::worker
