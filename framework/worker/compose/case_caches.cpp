#include "worker/compose/case_caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker/process/process_group.h"

namespace assay::worker {

CaseCaches::CaseCaches(const store::Parameters& parameters, const at::Device& device)
    : device_(device) {
  facts_.policy = std::get<std::string>(parameters.at("measure.cache"));
  facts_.cache_bytes = measure::cache_bytes(device);
  if (facts_.policy != "flush") return;
  flush_.emplace(device);
  facts_.flushed_bytes = flush_->bytes();
}

std::function<void()> CaseCaches::flush() {
  if (!flush_) return {};
  return [this] { flush_->flush(); };
}

// The most that any rank needs, or 0 where one of them cannot build as many.
int CaseCaches::agreed_programs(const ProgramBytes& bytes, const Group& group) const {
  const int wanted = measure::programs_to_rotate(bytes.built, *facts_.cache_bytes,
                                                 measure::free_bytes(device_), bytes.called);
  if (group.size == 1) return wanted;
  const double most = worst_of_ranks(group, device_, wanted);
  const double too_few = worst_of_ranks(group, device_, wanted == 0 ? 1 : 0);
  return too_few > 0 ? 0 : static_cast<int>(most);
}

std::vector<AnotherProgram> CaseCaches::more_programs(
    const ProgramBytes& bytes, const Group& group, const std::function<AnotherProgram()>& build) {
  std::vector<AnotherProgram> more;
  if (facts_.policy != "rotate") return more;
  const int programs = agreed_programs(bytes, group);
  if (programs == 0) {
    throw Unsupported(
        fmt::format("measure.cache: rotate needs more programs than can be built: one takes {} "
                    "bytes, {} after its calls, and the cache holds {}; flush has no such limit",
                    bytes.built, std::max(bytes.built, bytes.called), *facts_.cache_bytes));
  }
  for (int i = 1; i < programs; ++i) more.push_back(build());
  facts_.programs = programs;
  facts_.program_bytes = bytes.built;
  return more;
}

std::vector<AnotherProgram> CaseCaches::programs_of_a_row(
    int calls, const ProgramBytes& bytes, const std::function<AnotherProgram()>& build) const {
  std::vector<AnotherProgram> more;
  const std::int64_t one = std::max(bytes.built, bytes.called);
  if (facts_.policy != "warm" || one <= 0) return more;
  const std::int64_t programs = std::min<std::int64_t>(calls, *facts_.cache_bytes / 4 / one);
  for (std::int64_t i = 1; i < programs; ++i) more.push_back(build());
  return more;
}

}  // namespace assay::worker
