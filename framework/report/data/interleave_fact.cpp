#include "report/data/interleave_fact.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "base/text.h"

namespace assay::report {
namespace {

std::string in_blocks(const std::set<std::int64_t>& blocks) {
  if (blocks.empty()) return "";
  const std::int64_t least = *blocks.begin();
  const std::int64_t most = *blocks.rbegin();
  if (least == most) return fmt::format(" in blocks of {} sample{}", most, most == 1 ? "" : "s");
  return fmt::format(" in blocks of {} to {} samples", least, most);
}

}  // namespace

std::string interleave_fact(const store::Run& run) {
  std::size_t cases = 0;
  std::set<std::int64_t> blocks;             // samples per block of each interleaved pass
  std::map<std::string, std::size_t> apart;  // cases by reason
  for (const store::CaseResult& result : run.cases) {
    const auto& interleaved = result.facts.interleaved;
    if (!interleaved) continue;
    if (interleaved->apart) {
      ++apart[*interleaved->apart];
      continue;
    }
    ++cases;
    if (!interleaved->passes) continue;
    for (const auto& [name, pass] : *interleaved->passes) {
      if (pass.block) blocks.insert(*pass.block);
    }
  }
  if (cases == 0 && apart.empty()) return "";
  std::vector<std::string> parts = {
      fmt::format("{} case{}{}", cases, cases == 1 ? "" : "s", in_blocks(blocks))};
  for (const auto& [why, count] : apart) {
    parts.push_back(fmt::format("{} apart ({})", count, why));
  }
  return join(parts, "; ");
}

}  // namespace assay::report
