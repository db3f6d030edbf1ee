#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/outcome.h"

namespace assay::run {

// What became of one rank's part of a case.
struct RankEnd {
  bool done = false;                           // it has answered or died
  Status status;                               // then
  std::chrono::steady_clock::time_point when;  // then
  std::optional<std::int64_t> collectives;     // begun by a rank that is not done, where known
  std::string doing;                           // what it told last that it does
  std::string last_lines;                      // of what it printed
};

struct RankVerdict {
  Status status;
  std::size_t rank = 0;  // whose failure it is; 0 where none failed
};

// How the case ended, for all of them: a rank that died or failed on its own says more than those
// that waited for it, and of those that are not done the one that did not arrive is named.
RankVerdict verdict_of(const std::vector<RankEnd>& ranks, double time_limit_s);

// Whether a reason only says that another rank is gone.
bool blames_another_rank(const std::string& reason);

}  // namespace assay::run
