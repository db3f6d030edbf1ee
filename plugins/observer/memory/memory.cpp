#include <assay/observer.h>

#include "collect.h"
#include "snapshot.h"
#include "tables.h"

namespace assay::memory {

namespace {

// A program's memory from its build on: over time, by phase, by allocation, and what its backward
// keeps.
class Memory final : public Observer {
 public:
  static std::vector<MetricInfo> metrics() { return memory_metrics(); }

  bool fresh() const override { return true; }

  void observe(const ObservedPass& observed, Recorder& recorder) override {
    const Collected collected = collect(observed, [&] { return recorder.now_s(); });
    if (collected.history.steps > 0) leave(collected.history, recorder);
    if (collected.failure) std::rethrow_exception(collected.failure);
  }

 private:
  static void leave(const History& history, Recorder& recorder) {
    std::vector<Allocation> largest = largest_allocations(history);
    symbolise(largest);
    record(history, largest, recorder);
    recorder.artefact("snapshot.pickle", "application/octet-stream",
                      snapshot_of(history, largest).pickle);
    recorder.artefact("allocations.txt", "text/plain", allocations_text(largest));
  }
};

}  // namespace

}  // namespace assay::memory

ASSAY_PLUGIN(assay::memory::Memory, "memory",
             "The allocator's trace: memory over time and by phase, the largest allocations, what "
             "is saved for backward, and a snapshot for PyTorch's viewer.")
