#include "worker/compose/prepared_pass.h"

#include "measure/device.h"
#include "measure/host_time.h"

namespace assay::worker {

Status prepare(const Composition& composition, ProgramBoundary& program, const std::string& pass,
               GuardedStep& step) {
  if (composition.compile) {
    return composition.compile->prepare(program, pass, composition.context, step);
  }
  step.before = [&program, pass] { return program.before(pass); };
  step.run = [&program, pass] { return program.run(pass); };
  return {};
}

measure::Call call_of(const GuardedStep& step, measure::Tracer* tracer) {
  if (tracer == nullptr) {
    return {[&step] { throw_unless_ok(step.before()); }, [&step] { throw_unless_ok(step.run()); }};
  }
  // What `before` does is no part of the call, and so of no phase.
  return {[&step] { throw_unless_ok(step.before()); },
          [&step, tracer] {
            tracer->begin_call();
            throw_unless_ok(step.run());
          }};
}

double waited_s(const at::Device& device, const std::function<void()>& work) {
  measure::synchronize(device);
  const double begin_s = measure::host_now_s();
  work();
  measure::synchronize(device);
  return measure::host_now_s() - begin_s;
}

}  // namespace assay::worker
