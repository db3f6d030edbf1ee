#pragma once

#include <cstdint>
#include <string>

#include "worker/compose/composition.h"
#include "worker/compose/verification.h"

namespace assay::worker {

// Verifies the passes of a composed case in programs of their own. All ranks verify together.
class CaseVerifier {
 public:
  // Both outlive it.
  CaseVerifier(PluginLoader& loader, const store::Parameters& parameters)
      : loader_(loader), parameters_(parameters) {}

  // Verification warms up: it loads kernels and chooses algorithms. Where no warm-up call is
  // allowed, it follows the timing of all passes, and results are held back until then.
  bool comes_last() const { return comes_last_; }

  // Verification after a single pass leaves communication out: ranks may differ in whether they
  // have the memory. Throws nothing, but where ranks cannot agree on a seed.
  Status verify(const Composition& composition, const std::string& pass, Moment moment);

  const CaseVerification& found() const { return found_; }

 private:
  PluginLoader& loader_;
  const store::Parameters& parameters_;
  bool comes_last_ = std::get<std::int64_t>(parameters_.at("measure.warmup")) == 0;
  std::uint64_t seed_ = 0;  // the ranks' common one; 0: not drawn yet
  CaseVerification found_;
};

}  // namespace assay::worker
