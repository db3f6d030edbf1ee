#include "worker/pass/untimed_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "worker/compose/prepared_pass.h"
#include "worker/process/process_group.h"

namespace assay::worker {

namespace {

// A replay may first copy what the program reads where it lies.
constexpr double factor = 2;
constexpr double beside_s = 50e-6;
constexpr int most_tries = 5;

double worst(const CaseContext& context, double seconds) {
  return context.group.size == 1 ? seconds : worst_of_ranks(context.group, context.device, seconds);
}

}  // namespace

Status judge_untimed_part(const GuardedStep& step, ProgramBoundary& program,
                          const std::string& pass, const CaseContext& context) {
  double steps_s = std::numeric_limits<double>::infinity();
  double own_s = std::numeric_limits<double>::infinity();
  for (int tries = 0; tries < most_tries; ++tries) {
    Status status;
    steps_s = std::min(steps_s, waited_s(context.device, [&] { status = step.before(); }));
    throw_unless_ok(status);
    own_s = std::min(own_s, waited_s(context.device, [&] { status = program.before(pass); }));
    const bool lacks_memory = worst(context, status.outcome == Outcome::oom ? 1 : 0) > 0;
    if (lacks_memory) return {};
    throw_unless_ok(status);
    if (worst(context, steps_s - factor * own_s) <= beside_s) return {};
  }
  return {Outcome::wrong,
          fmt::format("ahead of each call, untimed, it works for {}; what the program itself does "
                      "there takes {}",
                      human_duration(steps_s), human_duration(own_s))};
}

}  // namespace assay::worker
