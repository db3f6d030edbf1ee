#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "measure/content.h"
#include "worker/case/case_caches.h"
#include "worker/case/input_renewal.h"
#include "worker/case/prepared_pass.h"

namespace assay::worker {

// The programs that rotate with the case's own, each prepared for the pass.
class Rotation {
 public:
  Rotation(std::vector<AnotherProgram> programs, const std::string& pass, std::uint64_t secret,
           Integrity integrity)
      : programs_(std::move(programs)), steps_(programs_.size()) {
    std::uint64_t number = 0;
    for (const AnotherProgram& another : programs_) {
      renewals_.emplace_back(*another.program, pass, measure::mixed(secret + ++number), integrity);
    }
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      throw_unless_ok(prepare(*programs_[i].composition, *programs_[i].program, pass, steps_[i]));
    }
  }

  const std::vector<GuardedStep>& steps() const { return steps_; }
  ProgramBoundary& program(std::size_t i) { return *programs_[i].program; }
  InputRenewal& renewal(std::size_t i) { return renewals_[i]; }
  measure::Tracer* tracer(std::size_t i) { return programs_[i].composition->tracer.get(); }

 private:
  std::vector<AnotherProgram> programs_;
  std::deque<InputRenewal> renewals_;
  std::vector<GuardedStep> steps_;  // destroyed first: they refer to the programs
};

}  // namespace assay::worker
