#pragma once

#include <c10/core/AutogradState.h>

namespace assay::model {

// While it lives, the autograd of the thread that made it computes on that thread. On a GPU it
// would else wake a thread of its own and wait for it, which takes longer than launching what a
// short operation's backward has.
class AutogradOnThisThread {
 public:
  AutogradOnThisThread() { state().set_multithreading_enabled(false); }
  ~AutogradOnThisThread() { state().set_multithreading_enabled(before_); }
  AutogradOnThisThread(const AutogradOnThisThread&) = delete;
  AutogradOnThisThread& operator=(const AutogradOnThisThread&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }

  const bool before_ = state().get_multithreading_enabled();
};

}  // namespace assay::model
