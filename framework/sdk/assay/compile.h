#pragma once

#include <assay/ops.h>
#include <assay/workload.h>

#include <functional>

namespace assay {

// One pass made ready to be called many times.
struct Step {
  std::function<void()> before;  // outside the timed region; may be empty
  std::function<void()> run;     // the timed region
};

// How a step is fused, captured and launched.
class Compile {
 public:
  static constexpr const char* kind = "compile";
  template <class T>
  class Guard;

  virtual ~Compile() = default;

  // May replace operations that are not pinned; throws Unsupported where it would have to
  // replace a pinned one.
  virtual void select(Ops&, const Pinned&) {}
  // `program` outlives the step. `context.communication` tells whether it can be captured.
  virtual Step prepare(ProgramBoundary& program, const std::string& pass,
                       const CaseContext& context) = 0;
};

// A step whose calls hand over a status.
struct GuardedStep {
  std::function<Status()> before;  // never empty
  std::function<Status()> run;
};

class CompileBoundary : public Boundary {
 public:
  virtual Status select(Ops& ops, const Pinned& pinned) noexcept = 0;
  virtual Status prepare(ProgramBoundary& program, const std::string& pass,
                         const CaseContext& context, GuardedStep& step) noexcept = 0;
};

template <class T>
class Compile::Guard final : public CompileBoundary {
 public:
  template <class... Arguments>
  explicit Guard(const Arguments&... arguments) : plugin_(arguments...) {}

  Status select(Ops& ops, const Pinned& pinned) noexcept override {
    return guarded([&] { plugin_.select(ops, pinned); });
  }
  Status prepare(ProgramBoundary& program, const std::string& pass, const CaseContext& context,
                 GuardedStep& step) noexcept override {
    return guarded([&] {
      Step made = plugin_.prepare(program, pass, context);
      step.before = [call = std::move(made.before)] { return call ? guarded(call) : Status{}; };
      step.run = [call = std::move(made.run)] { return guarded(call); };
    });
  }

 private:
  T plugin_;
};

}  // namespace assay
