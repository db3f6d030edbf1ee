#pragma once

#include <assay/compile.h>

namespace assay {

// A step whose calls return a status.
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

namespace detail {

class CompileGuard final : public Guard<Compile, CompileBoundary> {
 public:
  using Guard::Guard;

  Status select(Ops& ops, const Pinned& pinned) noexcept override {
    return guarded([&] { plugin_->select(ops, pinned); });
  }
  Status prepare(ProgramBoundary& program, const std::string& pass, const CaseContext& context,
                 GuardedStep& step) noexcept override {
    return guarded([&] {
      Step made = plugin_->prepare(program, pass, context);
      step.before = [call = std::move(made.before)] { return call ? guarded(call) : Status{}; };
      step.run = [call = std::move(made.run)] { return guarded(call); };
    });
  }
};

}  // namespace detail

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Compile> plugin) {
  return std::make_unique<detail::CompileGuard>(std::move(plugin));
}

}  // namespace assay
