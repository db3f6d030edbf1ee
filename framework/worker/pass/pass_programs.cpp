#include "worker/pass/pass_programs.h"

#include <utility>

#include "measure/content.h"
#include "worker/compose/prepared_pass.h"
#include "worker/process/process_group.h"

namespace assay::worker {

namespace {

measure::Call timed_call(const GuardedStep& step, measure::Tracer* tracer, ProgramBoundary& program,
                         InputRenewal& renewal, const std::string& pass) {
  measure::Call call = call_of(step, tracer);
  if (renewal.renews()) {
    call.renew_ahead = [&renewal] { renewal.renew_ahead(); };
    call.renew = [&renewal] { renewal.renew(); };
  }
  if (calls_in_a_row(program, pass) > 0) {
    call.in_a_row = [&program, pass](int calls) {
      throw_unless_ok(program.run_in_a_row(pass, calls));
    };
  }
  return call;
}

}  // namespace

int calls_in_a_row(ProgramBoundary& program, const std::string& pass) {
  int calls = 0;
  throw_unless_ok(program.calls_in_a_row(pass, calls));
  return calls;
}

PassPrograms::PassPrograms(const PassToMeasure& what, const GuardedStep& step) : what_(what) {
  add(what.program, what.renewal, what.composition.tracer.get(), step);
  take(what.caches.more_programs(what.bytes, what.composition.context.group, what.build_another));
}

void PassPrograms::add(ProgramBoundary& program, InputRenewal& renewal, measure::Tracer* tracer,
                       const GuardedStep& step) {
  called_.push_back({&program, &renewal});
  tracers_.push_back(tracer);
  calls_.push_back(timed_call(step, tracer, program, renewal, what_.pass));
}

std::vector<measure::Call> PassPrograms::take(std::vector<AnotherProgram> programs) {
  const auto first = static_cast<std::ptrdiff_t>(calls_.size());
  for (AnotherProgram& another : programs) {
    InputRenewal renewal(*another.program, what_.pass,
                         measure::mixed(what_.secret + called_.size()), what_.integrity);
    Further& taken = further_.emplace_back(Further{std::move(another), std::move(renewal), {}});
    ProgramBoundary& program = *taken.program.program;
    throw_unless_ok(prepare(*taken.program.composition, program, what_.pass, taken.step));
    add(program, taken.renewal, taken.program.composition->tracer.get(), taken.step);
  }
  return {calls_.begin() + first, calls_.end()};
}

EndToEnd PassPrograms::as_used(bool in_rows, int in_a_row) const {
  const CaseContext& context = what_.composition.context;
  EndToEnd used = {.row = {}, .in_a_row = in_a_row, .pass = what_.pass, .device = context.device};
  for (std::size_t i = 0; i < (in_rows ? calls_.size() : 1); ++i) {
    used.row.push_back({calls_[i], *called_[i].program, *called_[i].renewal});
  }
  if (context.group.size == 1) return used;
  used.worst_of_ranks = worst_among(context.group, context.device);
  used.meet = [&context] { barrier(context.group); };
  return used;
}

void PassPrograms::share(std::uint64_t secret) const {
  for (std::size_t i = 0; i < called_.size(); ++i) {
    called_[i].renewal->share(measure::mixed(~secret ^ i));
  }
}

}  // namespace assay::worker
