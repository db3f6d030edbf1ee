#include "run/interleave/interleave_choice.h"

#include <algorithm>

#include "run/external/permission.h"

namespace assay::run {

Interleaving::Interleaving(const Surroundings& surroundings, const config::Plan& plan,
                           bool allow_external)
    : around_(surroundings),
      plan_(plan),
      allow_external_(allow_external),
      comparisons_(surroundings.experiment, plan),
      estimator_(surroundings) {}

const std::vector<std::size_t>& Interleaving::members_with(std::size_t case_index,
                                                           const Left& left) {
  static const std::vector<std::size_t> nobody;
  const Comparison* comparison = comparisons_.of(case_index);
  if (comparison == nullptr) return nobody;
  const auto [settled, first] = settled_.try_emplace(comparison);
  if (first) {
    std::vector<Candidate> candidates;
    for (const std::size_t index : comparison->cases) {
      if (left(index)) candidates.push_back(candidate(index));
    }
    settled->second = fit_together(candidates, around_.machine);
    if (candidates.size() == 1 && comparison->cases.size() > 1) {
      settled->second.apart[candidates[0].case_index] = "the others were measured before";
    }
  }
  const std::vector<std::size_t>& members = settled->second.members;
  return std::binary_search(members.begin(), members.end(), case_index) ? members : nobody;
}

Candidate Interleaving::candidate(std::size_t case_index) {
  const ResolvedCase resolved =
      resolve(around_, static_cast<std::int64_t>(case_index), plan_.parameters(case_index));
  const store::Parameters& parameters = resolved.request.parameters;
  Candidate candidate;
  candidate.case_index = case_index;
  candidate.on_cuda = to_text(parameters.at("device")) == "cuda";
  candidate.world_size = static_cast<int>(std::get<std::int64_t>(parameters.at("world_size")));
  candidate.bytes = estimator_.estimate(
      [&](const std::string& name) { return store::value_of(parameters, name); });
  if (resolved.skipped) candidate.cannot = "it is skipped";
  if (resolved.pass_by_pass) candidate.cannot = "each of its passes has workers of its own";
  if (const catalogue::PluginInfo* external = resolved.external; external != nullptr) {
    if (!external->takes_turns) {
      candidate.cannot =
          external->name + " is a program of its own, which does not say that it takes turns";
    }
    if (why_no_leave(*external, allow_external_)) candidate.cannot = "it is skipped";
  }
  return candidate;
}

std::string Interleaving::why_apart(std::size_t case_index) const {
  const Comparison* comparison = comparisons_.of(case_index);
  const auto settled = comparison ? settled_.find(comparison) : settled_.end();
  if (settled == settled_.end()) return {};
  const auto why = settled->second.apart.find(case_index);
  return why == settled->second.apart.end() ? std::string() : why->second;
}

std::string Interleaving::name_of(std::size_t case_index) const {
  const Comparison* comparison = comparisons_.of(case_index);
  if (comparison == nullptr) return {};
  return name_in_comparison(around_.experiment, plan_, *comparison, case_index);
}

}  // namespace assay::run
