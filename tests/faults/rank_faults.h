#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace assay::faults {

// One rank of several misbehaves around a collective.
struct RankFault {
  std::string fault;
  std::string moment;
  std::string done;  // for the page, behind "rank 1"
  std::string outcome;
  std::string reason;   // an extended regular expression
  std::string timeout;  // of its case
  int culprit = 1;
  int ranks = 2;

  std::string name() const;
};

// googletest's name for one.
inline void PrintTo(const RankFault& fault, std::ostream* stream) { *stream << fault.name(); }

// A case that hangs is given so long; without its fault it takes a tenth of a second.
inline constexpr int hanging_limit_s = 5;
// Rank 1 of two, around a collective: over Gloo and over NCCL, which takes longer to begin.
std::vector<RankFault> rank_faults(int limit_s = hanging_limit_s);
// The main faults of rank 0, where all ranks meet, and of each of three ranks; and faults during
// verification, without a collective.
std::vector<RankFault> faults_of_other_ranks(int limit_s = hanging_limit_s);

// The culprit of two ranks dies in each phase of a training step.
std::vector<RankFault> faults_of_a_step();

// Runs good case, fault, good case on ranks of the device. Checks that the fault costs only its
// case, ends it for all ranks within its limit and is reported everywhere (struck_case.h).
// launcher: the text of a file of configs/launchers that starts the ranks; "": the host does.
void expect_ends_the_case_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault, const std::string& launcher = "");
// The same for a fault of a training step; its moment is the phase.
void expect_ends_the_step_for_all(const std::string& device, const std::string& group,
                                  const RankFault& fault, const std::string& launcher = "");

}  // namespace assay::faults
