#pragma once

#include <map>
#include <optional>
#include <string>

#include "worker/case/composition.h"

namespace assay::worker {

// ok, or `wrong` with the sentence that says what is off by how much. What was not checked is ok.
Status status_of(const Verification& verification);

enum class Moment { before, after };  // timing

// Holds the passes of a case against their workload's reference, on memory of its own, before they
// are timed and again afterwards: a variant may be right at first and wrong later.
class CaseVerification {
 public:
  // ok where the workload verifies nothing of the pass. Throws nothing.
  Status verify(WorkloadBoundary& workload, const CaseContext& context, const std::string& pass,
                Moment moment);

  // The error to be stored: of the two the one nearer to its tolerance, or farther beyond it.
  std::optional<double> error(const std::string& pass) const;

  // How far two calls of the pass may be apart: what the workload tolerates of it, and at least
  // what the precision costs.
  double tolerance(const Composition& composition, const std::string& pass) const;

  // Fills in `before` and `after`, as far as the pass was verified.
  void tell(const std::string& pass, store::VerificationFacts& facts) const;

 private:
  std::map<std::string, std::map<Moment, Verification>> found_;
};

}  // namespace assay::worker
