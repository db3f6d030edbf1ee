#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/cache.h"
#include "store/records/records.h"
#include "worker/case/composition.h"

namespace assay::worker {

// A further program of a case, with plugins of its own.
struct AnotherProgram {
  std::unique_ptr<Composition> composition;
  std::unique_ptr<ProgramBoundary> program;
};

// Memory of a program, as far as it is known.
struct ProgramBytes {
  std::int64_t built = 0;   // what building it left allocated
  std::int64_t called = 0;  // and its calls as well
};

// What measure.cache asks for in one case: nothing of `warm`; of `flush` a buffer, and of `rotate`
// further programs of the same case and seed, whose inputs therefore lie elsewhere.
class CaseCaches {
 public:
  // `flush` allocates its buffer here, before the case takes its memory.
  CaseCaches(const store::Parameters& parameters, const at::Device& device);

  // For TimedCalls; empty where nothing is to be flushed.
  std::function<void()> flush();

  // As many as must take turns with the case's own, whose memory is given; none where the caches
  // stay as they are. All ranks call it together and build the same number. Throws Unsupported
  // where the programs are too small or the memory too scarce.
  std::vector<AnotherProgram> more_programs(const ProgramBytes& bytes, const Group& group,
                                            const std::function<AnotherProgram()>& build);

  // How far the policy went: docs/measuring.md.
  const store::CacheFacts& facts() const { return facts_; }

 private:
  int agreed_programs(const ProgramBytes& bytes, const Group& group) const;

  at::Device device_;
  std::optional<measure::CacheFlush> flush_;
  store::CacheFacts facts_;
};

}  // namespace assay::worker
