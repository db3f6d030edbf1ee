#pragma once

#include <sys/types.h>

namespace assay {

// Whether a thread of this process runs or would if it had a core; false where it has ended.
bool thread_runs(pid_t id);

// Waits until no other thread of this process runs: pools spin for milliseconds after their work.
void await_idle_threads(double limit_s = 0.1);

}  // namespace assay
