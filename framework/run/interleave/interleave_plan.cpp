#include "run/interleave/interleave_plan.h"

#include <algorithm>

#include "run/external/permission.h"

namespace assay::run {

InterleavePlan::InterleavePlan(const Surroundings& surroundings, const config::Plan& plan,
                               bool allow_external)
    : around_(surroundings),
      plan_(plan),
      allow_external_(allow_external),
      groups_(surroundings.experiment, plan),
      estimator_(surroundings) {}

const std::vector<std::size_t>& InterleavePlan::members_with(std::size_t case_index,
                                                             const Left& left) {
  static const std::vector<std::size_t> nobody;
  const InterleaveGroup* group = groups_.of(case_index);
  if (group == nullptr) return nobody;
  const auto [settled, first] = settled_.try_emplace(group);
  if (first) {
    std::vector<InterleaveCandidate> candidates;
    for (const std::size_t index : group->cases) {
      if (left(index)) candidates.push_back(candidate(index));
    }
    settled->second = interleave_fit(candidates, around_.machine);
    if (candidates.size() == 1 && group->cases.size() > 1) {
      settled->second.apart[candidates[0].case_index] = "the others were measured before";
    }
  }
  const std::vector<std::size_t>& members = settled->second.members;
  return std::binary_search(members.begin(), members.end(), case_index) ? members : nobody;
}

InterleaveCandidate InterleavePlan::candidate(std::size_t case_index) {
  const ResolvedCase resolved =
      resolve(around_, static_cast<std::int64_t>(case_index), plan_.parameters(case_index));
  const store::Parameters& parameters = resolved.request.parameters;
  InterleaveCandidate candidate;
  candidate.case_index = case_index;
  candidate.on_cuda = store::text_of(parameters, "device") == "cuda";
  candidate.world_size = world_size_of(resolved);
  const auto value = [&](const std::string& name) { return store::value_of(parameters, name); };
  candidate.bytes = estimator_.estimate(value);
  candidate.look_bytes = estimator_.estimate_of_look(value);
  if (resolved.skipped) candidate.cannot = "it is skipped";
  if (resolved.not_built) candidate.cannot = "its library does not build";
  if (resolved.pass_by_pass) candidate.cannot = "each of its passes has workers of its own";
  if (const catalogue::PluginInfo* external = resolved.external; external != nullptr) {
    if (!external->takes_turns) {
      candidate.cannot =
          external->name + " is a program of its own and does not declare that it takes turns";
    }
    if (why_not_permitted(*external, allow_external_)) candidate.cannot = "it is skipped";
  }
  return candidate;
}

std::string InterleavePlan::why_apart(std::size_t case_index) const {
  const InterleaveGroup* group = groups_.of(case_index);
  const auto settled = group ? settled_.find(group) : settled_.end();
  if (settled == settled_.end()) return {};
  const auto why = settled->second.apart.find(case_index);
  return why == settled->second.apart.end() ? std::string() : why->second;
}

std::string InterleavePlan::name_of(std::size_t case_index) const {
  const InterleaveGroup* group = groups_.of(case_index);
  if (group == nullptr) return {};
  return name_in_group(around_.experiment, plan_, *group, case_index);
}

}  // namespace assay::run
