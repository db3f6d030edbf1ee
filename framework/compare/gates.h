#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"

namespace assay::compare {

// A condition that fails a comparison: "slower", "slower:5%", "inconclusive", "not-compared".
struct Gate {
  Verdict verdict = Verdict::slower;
  double least = 0;  // of the ratio, as in Criteria

  std::string text() const;
};

// `faster`, `slower`, `lower` or `higher`.
bool has_direction(const Gate& gate);

bool meets(const Row& row, const Gate& gate);
// Whether a compared row misses a gate with a direction, but might meet it: the interval of its
// ratio reaches the gate's size, or is unknown.
bool is_undecided(const Row& row, const Gate& gate, const Criteria& criteria);

struct Gates {
  std::vector<Gate> gates;
  bool undecided = false;  // whether an undecided gate fails, too
};

// Each text is one gate or several with commas; "undecided" requires a gate with a direction.
Result<Gates> parse_gates(const std::vector<std::string>& texts);

struct GateFindings {
  std::vector<std::string> lines;
  bool fails = false;
};
GateFindings apply(const Gates& gates, const Comparison& comparison);

}  // namespace assay::compare
