#pragma once

#include <assay/ops.h>
#include <assay/workload.h>

#include <functional>

namespace assay {

// One pass, prepared for repeated calls.
struct Step {
  std::function<void()> before;  // untimed; may be empty
  std::function<void()> run;     // timed
};

// How a step is fused, captured and launched.
class Compile {
 public:
  static constexpr const char* kind = "compile";

  virtual ~Compile() = default;

  // May replace operations that are not pinned. Throws Unsupported where it would have to replace a
  // pinned one.
  virtual void select(Ops&, const Pinned&) {}
  // The program outlives the step. context.communication.traits() says whether it can be captured.
  virtual Step prepare(ProgramHandle program, const std::string& pass,
                       const CaseContext& context) = 0;
};

}  // namespace assay

#include <assay/detail/compile.h>
