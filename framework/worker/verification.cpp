#include "worker/verification.h"

#include "worker/verdict.h"

namespace assay::worker {

Status verify_pass(const Composition& composition, const std::string& pass,
                   const std::function<void(store::Series series)>& measured) {
  Verification verification;
  const Status status = composition.workload->verify(composition.context, pass, verification);
  if (!status.ok() || !verification.checked) return status;
  measured({.pass = pass, .metric = "error", .samples = {verification.error}});
  return verdict(verification);
}

}  // namespace assay::worker
