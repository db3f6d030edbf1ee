#pragma once

#include <vector>

#include "compare/compare.h"

namespace assay::compare {

using Cases = std::vector<const store::CaseResult*>;

// One case on both sides; empty: the side lacks it. Points into the sides.
struct CasePair {
  Cases a;
  Cases b;
};

// Cases of A in their order, then those of B alone.
std::vector<CasePair> pair_cases(const Side& a, const Side& b);

// Differences between the runs of the sides, and between their paired cases.
std::vector<Difference> differences(const Side& a, const Side& b,
                                    const std::vector<CasePair>& pairs);

}  // namespace assay::compare
