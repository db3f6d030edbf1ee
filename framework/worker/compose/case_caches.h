#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/cache.h"
#include "store/records/records.h"
#include "worker/compose/composition.h"

namespace assay::worker {

// A further program of a case, with its own plugins.
struct AnotherProgram {
  std::unique_ptr<Composition> composition;
  std::unique_ptr<ProgramBoundary> program;
};

struct ProgramBytes {
  std::int64_t built = 0;   // allocated by building it
  std::int64_t called = 0;  // allocated after its calls too
};

// Applies measure.cache to one case. `warm` does nothing; `flush` keeps a buffer; `rotate` builds
// further programs of the same case and seed, whose inputs lie at other addresses.
class CaseCaches {
 public:
  // `flush` allocates its buffer here, before the case takes its memory.
  CaseCaches(const store::Parameters& parameters, const at::Device& device);

  // For TimedCalls; empty unless the policy flushes.
  std::function<void()> flush();

  // Builds the programs to rotate with the case's own, whose memory is given; none unless the
  // policy rotates. All ranks call it together and build the same number. Throws Unsupported where
  // the programs are too small or the memory too scarce.
  std::vector<AnotherProgram> more_programs(const ProgramBytes& bytes, const Group& group,
                                            const std::function<AnotherProgram()>& build);

  // Programs beside the case's own for a row of so many calls, each of which then has inputs of its
  // own. Together they take at most a quarter of the cache, so that `warm` stays what it is; none
  // where the policy puts something between calls.
  std::vector<AnotherProgram> programs_of_a_row(int calls, const ProgramBytes& bytes,
                                                const std::function<AnotherProgram()>& build) const;

  // How the policy was applied: docs/measuring.md.
  const store::CacheFacts& facts() const { return facts_; }

 private:
  int agreed_programs(const ProgramBytes& bytes, const Group& group) const;

  at::Device device_;
  std::optional<measure::CacheFlush> flush_;
  store::CacheFacts facts_;
};

}  // namespace assay::worker
