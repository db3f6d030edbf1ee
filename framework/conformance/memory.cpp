#include "conformance/memory.h"

#include <fmt/format.h>

#include <optional>

#include "measure/memory.h"

namespace assay::conformance {

CheckVerdict frees_memory(const at::Device& device, const std::function<void()>& call) {
  constexpr int rounds = 3, calls = 8;
  std::optional<measure::CpuMemoryScope> counted;
  if (device.is_cpu()) counted.emplace();
  for (int i = 0; i < 2; ++i) call();
  const std::int64_t before = measure::allocated_bytes(device);
  std::int64_t last = before;
  // A GPU's backward returns just before its thread drops the last gradients, so one round may end
  // with more memory than it began with. A leak grows in every round.
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < calls; ++i) call();
    const std::int64_t now = measure::allocated_bytes(device);
    if (now <= last) return {};
    last = now;
  }
  return {.complaint =
              fmt::format("{} repetitions left {} bytes allocated", rounds * calls, last - before)};
}

}  // namespace assay::conformance
