#include "report/data/interleave_fact.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "store/records/json.h"

namespace assay::report {
namespace {

using nlohmann::json;

// Samples a turn, of every pass that took turns.
std::set<std::int64_t> blocks_of(const json& interleaved) {
  std::set<std::int64_t> blocks;
  const json& passes = store::member_of(interleaved, "passes");
  if (!passes.is_object()) return blocks;
  for (const json& pass : passes) {
    if (store::member_of(pass, "block").is_number_integer())
      blocks.insert(store::member_of(pass, "block").get<std::int64_t>());
  }
  return blocks;
}

std::string in_blocks(const std::set<std::int64_t>& blocks) {
  if (blocks.empty()) return "";
  const std::int64_t least = *blocks.begin();
  const std::int64_t most = *blocks.rbegin();
  if (least == most) return fmt::format(" in blocks of {} sample{}", most, most == 1 ? "" : "s");
  return fmt::format(" in blocks of {} to {} samples", least, most);
}

}  // namespace

std::string turns_of(const store::Run& run) {
  std::size_t in_turns = 0;
  std::set<std::int64_t> blocks;
  std::map<std::string, std::size_t> apart;  // by the reason
  for (const store::CaseResult& result : run.cases) {
    const json& interleaved = store::member_of(result.context, "interleaved");
    if (interleaved.is_null()) continue;
    if (const json& why = store::member_of(interleaved, "apart"); why.is_string()) {
      ++apart[why.get<std::string>()];
    } else {
      ++in_turns;
      blocks.merge(blocks_of(interleaved));
    }
  }
  if (in_turns == 0 && apart.empty()) return "";
  std::vector<std::string> parts = {
      fmt::format("{} case{}{}", in_turns, in_turns == 1 ? "" : "s", in_blocks(blocks))};
  for (const auto& [why, count] : apart) {
    parts.push_back(fmt::format("{} apart ({})", count, why));
  }
  return join(parts, "; ");
}

}  // namespace assay::report
