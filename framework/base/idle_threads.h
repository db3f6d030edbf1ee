#pragma once

namespace assay {

// Waits until no other thread of this process runs: pools spin for milliseconds after their work.
void await_idle_threads(double limit_s = 0.1);

}  // namespace assay
