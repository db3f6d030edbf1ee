#pragma once

#include <vector>

#include "compare/compare.h"

namespace assay::compare {

using Cases = std::vector<const store::CaseResult*>;

// The same case on both sides; empty where a side does not have it. Points into the sides.
struct CasePair {
  Cases a;
  Cases b;
};

// Cases of A in their order, then those that only B has.
std::vector<CasePair> pair_cases(const Side& a, const Side& b);

// What differs between the runs of the sides, and between the cases that both have.
std::vector<Difference> differences(const Side& a, const Side& b,
                                    const std::vector<CasePair>& pairs);

}  // namespace assay::compare
