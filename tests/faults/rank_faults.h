#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace assay::faults {

// Rank 1 of two misbehaves around a collective.
struct RankFault {
  std::string fault;
  std::string moment;
  std::string done;  // for the page
  std::string outcome;
  std::string reason;   // an extended regular expression that the reason must hold
  std::string timeout;  // of its case

  std::string name() const { return fault + "_" + moment; }
};

// googletest's name for one.
inline void PrintTo(const RankFault& fault, std::ostream* stream) { *stream << fault.name(); }

std::vector<RankFault> rank_faults();

// Runs good case, fault, good case on two ranks of the device, and checks that the fault has cost
// its case alone, and has ended it for both ranks within its limit.
void expect_ends_the_case_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault);

}  // namespace assay::faults
