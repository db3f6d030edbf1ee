#pragma once

#include <functional>
#include <string>

#include "worker/compose/case_caches.h"
#include "worker/compose/composition.h"

namespace assay::worker {

// What goes ahead of each call of a pass, untimed, under a compile variant.
struct UntimedPart {
  const GuardedStep& step;   // as the variant has prepared it
  ProgramBoundary& program;  // under the variant
  const std::string& pass;
  const Composition& composition;
  ProgramBytes bytes;
  std::function<AnotherProgram()> build_plain;  // the program without the variant
};

// What surpasses the program's own work there is work that no time shows. The two take turns, and
// the shortest of each count, or the lower quartiles where those are closer. `wrong` where the step
// does more than the program. `unsupported` where operations that the variant has selected take
// there much longer than others: a forward may do a backward's work, which then tells nothing by
// itself. Ok where memory lacks for the program's own part, or for another program. Leaves the
// program's outputs undefined. All ranks call it together. Throws what the step throws.
Status judge_untimed_part(const UntimedPart& part);

}  // namespace assay::worker
