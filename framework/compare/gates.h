#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"

namespace assay::compare {

// A condition for which a comparison fails: "slower", "slower:5%", "inconclusive", "not-compared".
struct Gate {
  Verdict verdict = Verdict::slower;
  double least = 0;  // of the ratio, as in Criteria

  // As it is written.
  std::string text() const;
};

// Whether it is of a difference: `faster`, `slower`, `lower`, `higher`.
bool has_direction(const Gate& gate);

bool meets(const Row& row, const Gate& gate);
// Whether it is not known that the row does not meet the gate: it does not, but the interval of its
// ratio reaches as far, or it has none for want of samples. Only of gates of a difference, and of
// what is compared.
bool is_undecided(const Row& row, const Gate& gate, const Criteria& criteria);

struct Gates {
  std::vector<Gate> gates;
  bool undecided = false;  // whether it fails, too, when one of the gates cannot be decided
};

// Each text is one gate, or several with commas; "undecided" goes with one of a difference.
Result<Gates> parse_gates(const std::vector<std::string>& texts);

// What the gates say of the comparison, a line each.
struct GateFindings {
  std::vector<std::string> lines;
  bool fails = false;
};
GateFindings apply(const Gates& gates, const Comparison& comparison);

}  // namespace assay::compare
