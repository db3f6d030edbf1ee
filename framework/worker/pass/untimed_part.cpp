#include "worker/pass/untimed_part.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <algorithm>
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

// Of two pieces of work, try by try.
struct Times {
  std::vector<double> one_s, other_s;
};

double shortest(const std::vector<double>& times_s) { return *std::ranges::min_element(times_s); }

// Beside others on few cores the shortest try is a rare one, whose luck one piece of work may have
// had and the other not; a quarter of the tries is shorter than this.
double lower_quartile(std::vector<double> times_s) {
  const auto at = times_s.begin() + std::ssize(times_s) / 4;
  std::ranges::nth_element(times_s, at);
  return *at;
}

// By which `one` surpasses `factor` times `other` and `more_s`, by either measure.
double excess_s(const Times& times, double factor, double more_s) {
  const double of_shortest = shortest(times.one_s) - factor * shortest(times.other_s);
  const double of_quartiles = lower_quartile(times.one_s) - factor * lower_quartile(times.other_s);
  return std::min(of_shortest, of_quartiles) - more_s;
}

enum class Turns { agreement, none, lack_of_memory };

// Does both in turn until `agree` likes the times, or for long enough. The same on all ranks.
Turns take_turns(const CaseContext& context, const Work& one, const Work& other, Times& times,
                 const std::function<bool()>& agree) {
  const double begin_s = measure::host_now_s();
  double spent_s = 0;
  const auto is_patient = [&](int tries) {
    return spent_s < patient_s || (tries <= patient_tries && spent_s < most_s);
  };
  Status first, second;
  const auto time_one = [&] {
    times.one_s.push_back(on_a_core_s(context, [&] { first = one(); }));
  };
  for (int tries = 1; is_patient(tries); ++tries) {
    // Whoever comes first behind the ranks' agreement finds colder caches.
    if (tries % 2 == 1) time_one();
    times.other_s.push_back(on_a_core_s(context, [&] { second = other(); }));
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
  Times times;
  const auto surplus_s = [&] {
    return excess_s(times, steps_factor, launch_s + copied_s.value_or(0));
  };
  const auto agree = [&] {
    if (worst(context, surplus_s()) <= 0) return true;
    if (copied_s) return false;
    copied_s = copying_s(part);
    return worst(context, surplus_s()) <= 0;
  };
  const Turns found = take_turns(
      context, part.step.before, [&] { return part.program.before(part.pass); }, times, agree);
  own_s = found == Turns::lack_of_memory ? 0 : shortest(times.other_s);
  if (found != Turns::none) return {};
  // Every rank tells of the one that surpasses its program most.
  const bool is_worst = surplus_s() == worst(context, surplus_s());
  const double step_s = worst(context, is_worst ? shortest(times.one_s) : 0);
  const double program_s = worst(context, is_worst ? shortest(times.other_s) : 0);
  return {
      Outcome::wrong,
      fmt::format("ahead of each call, untimed, it works for {:.4g} ms; what the program itself "
                  "does there takes {:.4g} ms",
                  1e3 * step_s, 1e3 * program_s)};
}

// The program beside a plain one.
Status judge_operations(const UntimedPart& part, double launch_s) {
  AnotherProgram plain;
  const Status built = guarded([&] { plain = part.build_plain(); });
  if (built.outcome == Outcome::oom) return {};
  throw_unless_ok(built);
  Times times;
  const Turns found = take_turns(
      part.composition.context, [&] { return part.program.before(part.pass); },
      [&] { return plain.program->before(part.pass); }, times,
      [&] { return excess_s(times, selected_factor, launch_s) <= 0; });
  if (found != Turns::none) return {};
  return {
      Outcome::unsupported,
      fmt::format("what goes ahead of it, untimed, takes {} with this variant's operations and "
                  "{} with others, and may do a part of its work: time forward_backward",
                  human_duration(shortest(times.one_s)), human_duration(shortest(times.other_s)))};
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
