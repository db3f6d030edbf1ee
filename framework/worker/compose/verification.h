#pragma once

#include <map>
#include <optional>
#include <string>

#include "worker/compose/composition.h"

namespace assay::worker {

// ok, or `wrong` with a sentence on what is off by how much. Unchecked counts as ok.
Status status_of(const Verification& verification);

enum class Moment { before, after };  // relative to timing

// Checks the passes of a case against their workload's reference, in memory of its own, before
// timing and again afterwards: a variant may be right at first and wrong later.
class CaseVerification {
 public:
  // ok where the workload does not verify the pass. Throws nothing.
  Status verify(WorkloadBoundary& workload, const CaseContext& context, const std::string& pass,
                Moment moment);

  // The stored error: of the two the one nearer to, or farther beyond, its tolerance.
  std::optional<double> error(const std::string& pass) const;

  // Largest distance of two calls of the pass: the workload's tolerance, or the precision's if
  // larger.
  double tolerance(const Composition& composition, const std::string& pass) const;

  void tell(const std::string& pass, store::VerificationFacts& facts) const;

 private:
  std::map<std::string, std::map<Moment, Verification>> found_;
};

}  // namespace assay::worker
