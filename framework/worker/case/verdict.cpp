#include "worker/case/verdict.h"

#include <fmt/format.h>

namespace assay::worker {

Status verdict(const Verification& verification) {
  if (!verification.checked || verification.error <= verification.tolerance) return {};
  return {Outcome::wrong,
          fmt::format("{} differs from the reference by {:.3g}, more than {:.3g}",
                      verification.worst, verification.error, verification.tolerance)};
}

}  // namespace assay::worker
