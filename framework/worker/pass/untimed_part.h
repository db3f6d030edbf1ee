#pragma once

#include <c10/core/Device.h>

#include <string>

#include "worker/compose/composition.h"

namespace assay::worker {

// `wrong` where a step that a compile variant has prepared takes longer ahead of a call, untimed,
// than the program itself does: what surpasses it is work that no time shows. Ok where the
// program's own part cannot run for lack of memory. Leaves the program's outputs undefined. All
// ranks call it together. Throws what the step throws.
Status judge_untimed_part(const GuardedStep& step, ProgramBoundary& program,
                          const std::string& pass, const CaseContext& context);

}  // namespace assay::worker
