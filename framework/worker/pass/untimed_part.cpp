#include "worker/pass/untimed_part.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"
#include "measure/cache.h"
#include "measure/core_wait.h"
#include "measure/host_time.h"
#include "worker/compose/prepared_pass.h"
#include "worker/process/process_group.h"

namespace assay::worker {

namespace {

// A tenth, by which the shortest of several tries may still differ, is all that a step may add to
// what the program does there, beside launching it and a copy of what it reads: a replay may need
// its inputs elsewhere.
constexpr double steps_factor = 1.1;
constexpr double launch_on_cpu_s = 20e-6;
constexpr double launch_on_gpu_s = 50e-6;  // also of ranks, whose cores others had in between
// Operations may be slower than textbook ones for honest reasons.
constexpr double selected_factor = 1.5;
constexpr double worth_building_s = 100e-6;
// A single try may have been disturbed, and then either part looks long. Calls that take seconds
// are disturbed alike, and many tries of short ones cost little.
bool has_tried_enough(int tries, double spent_s) {
  constexpr int few = 2, some = 4, many = 12;
  constexpr double short_s = 0.1, long_s = 1;
  return tries >= (spent_s < short_s ? many : spent_s < long_s ? some : few);
}

// A busy machine disturbs all tries of a short while, and each of long calls; ranks there spend
// more time on agreeing than on tries.
constexpr int patient_tries = 60;
constexpr double patient_s = 2, most_s = 20;

double worst(const CaseContext& context, double seconds) {
  return worst_of_ranks(context.group, context.device, seconds);
}

// Only waits within the time count: one beside it would make the work look shorter than it is.
double on_a_core_s(const CaseContext& context, const std::function<void()>& work) {
  double no_core_s = 0;
  const double passed_s = waited_s(context.device, [&] {
    const double begin_s = measure::waited_for_a_core_s();
    work();
    no_core_s = measure::waited_for_a_core_s() - begin_s;
  });
  return measure::on_a_core_s(passed_s, no_core_s);
}

using Work = std::function<Status()>;

// The shortest times of two pieces of work.
struct Shortest {
  double one_s = std::numeric_limits<double>::infinity();
  double other_s = std::numeric_limits<double>::infinity();
};

enum class Turns { agreement, none, lack_of_memory };

// Does both in turn until `agree` likes the times, or for long enough. The same on all ranks.
Turns take_turns(const CaseContext& context, const Work& one, const Work& other, Shortest& shortest,
                 const std::function<bool()>& agree) {
  const double begin_s = measure::host_now_s();
  double spent_s = 0;
  const auto is_patient = [&](int tries) {
    return spent_s < patient_s || (tries <= patient_tries && spent_s < most_s);
  };
  Status first, second;
  const auto time_one = [&] {
    shortest.one_s = std::min(shortest.one_s, on_a_core_s(context, [&] { first = one(); }));
  };
  for (int tries = 1; is_patient(tries); ++tries) {
    // Whoever comes first behind the ranks' agreement finds colder caches.
    if (tries % 2 == 1) time_one();
    shortest.other_s = std::min(shortest.other_s, on_a_core_s(context, [&] { second = other(); }));
    if (tries % 2 == 0) time_one();
    const bool lacks_memory = first.outcome == Outcome::oom || second.outcome == Outcome::oom;
    if (worst(context, lacks_memory ? 1 : 0) > 0) return Turns::lack_of_memory;
    throw_unless_ok(first);
    throw_unless_ok(second);
    spent_s = worst(context, measure::host_now_s() - begin_s);
    if (has_tried_enough(tries, spent_s) && agree()) return Turns::agreement;
  }
  // A single try may have taken all of the time.
  return agree() ? Turns::agreement : Turns::none;
}

// Of the inputs that are read ahead of a call, into memory that is there; 0 where that lacks.
double copying_s(const UntimedPart& part) {
  const at::NoGradGuard no_grad;
  std::vector<ProgramInput> inputs;
  throw_unless_ok(part.program.inputs(part.pass, inputs));
  double total_s = 0;
  const Status status = guarded([&] {
    for (const ProgramInput& input : inputs) {
      if (!input.of_before) continue;
      const at::Tensor copy = at::empty_like(input.tensor);
      copy.copy_(input.tensor);
      total_s += waited_s(part.composition.context.device, [&] { copy.copy_(input.tensor); });
    }
  });
  if (status.outcome != Outcome::oom) throw_unless_ok(status);
  return total_s;
}

// The step beside the program.
Status judge_step(const UntimedPart& part, double launch_s, double& own_s) {
  const CaseContext& context = part.composition.context;
  std::optional<double> copied_s;
  Shortest shortest;
  const auto agree = [&] {
    const double excess_s = shortest.one_s - steps_factor * shortest.other_s - launch_s;
    if (worst(context, excess_s) <= 0) return true;
    if (!copied_s) copied_s = copying_s(part);
    return worst(context, excess_s - *copied_s) <= 0;
  };
  const Turns found = take_turns(
      context, part.step.before, [&] { return part.program.before(part.pass); }, shortest, agree);
  own_s = found == Turns::lack_of_memory ? 0 : shortest.other_s;
  if (found != Turns::none) return {};
  return {
      Outcome::wrong,
      fmt::format("ahead of each call, untimed, it works for {:.4g} ms; what the program itself "
                  "does there takes {:.4g} ms",
                  1e3 * shortest.one_s, 1e3 * shortest.other_s)};
}

// The program beside a plain one.
Status judge_operations(const UntimedPart& part, double launch_s) {
  AnotherProgram plain;
  const Status built = guarded([&] { plain = part.build_plain(); });
  if (built.outcome == Outcome::oom) return {};
  throw_unless_ok(built);
  Shortest shortest;
  const auto agree = [&] {
    return shortest.one_s <= selected_factor * shortest.other_s + launch_s;
  };
  const Turns found = take_turns(
      part.composition.context, [&] { return part.program.before(part.pass); },
      [&] { return plain.program->before(part.pass); }, shortest, agree);
  if (found != Turns::none) return {};
  return {Outcome::unsupported,
          fmt::format("what goes ahead of it, untimed, takes {} with this variant's operations and "
                      "{} with others, and may do a part of its work: time forward_backward",
                      human_duration(shortest.one_s), human_duration(shortest.other_s))};
}

// Ranks would have to agree on whether there is memory for another program.
bool can_judge_operations(const UntimedPart& part) {
  const CaseContext& context = part.composition.context;
  if (!part.composition.operations_selected || context.group.size > 1) return false;
  return 2 * std::max(part.bytes.built, part.bytes.called) < measure::free_bytes(context.device);
}

}  // namespace

Status judge_untimed_part(const UntimedPart& part) {
  const CaseContext& context = part.composition.context;
  const bool is_quick = context.device.is_cpu() && context.group.size == 1;
  const double launch_s = is_quick ? launch_on_cpu_s : launch_on_gpu_s;
  double own_s = 0;
  if (Status judged = judge_step(part, launch_s, own_s); !judged.ok()) return judged;
  if (own_s < worth_building_s || !can_judge_operations(part)) return {};
  return judge_operations(part, launch_s);
}

}  // namespace assay::worker
