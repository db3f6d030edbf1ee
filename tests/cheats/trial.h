#pragma once

#include <string>
#include <vector>

#include "table.h"

namespace assay::cheats {

// A cheat is shown to gain where it is so many times as fast as its twin; what is less may be
// noise.
inline constexpr double least_gain = 1.5;

// What assay said of a cheat at a level.
struct Verdict {
  std::string cheat;
  std::string level;
  std::string says;    // as in the table
  std::string reason;  // of the outcome or the mark
  double shown_s = 0;  // median of the cheat's own times; 0 where there is none
  double honest_s = 0;
};

// A control or honest twin that was not `ok`, or had a mark: its case and what was said.
struct Accusation {
  std::string its_case;
  std::string said;
};

struct Trial {
  std::vector<Verdict> verdicts;  // in the table's order
  std::vector<Accusation> accusations;
  std::string problem;  // why there are no verdicts; "" where there are
};

// Runs all cheats of an experiment, their twins and victims and its controls, as one run of assay.
Trial try_cheats(const Table& table, const std::string& experiment, const std::string& level);

}  // namespace assay::cheats
