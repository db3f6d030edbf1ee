#pragma once

namespace assay {

// Returns when no other thread of this process runs, after `limit_s` seconds at the latest. Thread
// pools go on spinning for milliseconds after their last work, and so long keep a core from others.
void await_idle_threads(double limit_s = 0.1);

}  // namespace assay
