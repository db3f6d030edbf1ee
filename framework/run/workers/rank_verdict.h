#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/outcome.h"
#include "wire/collective_notes.h"

namespace assay::run {

struct RankEnd {
  bool done = false;                                        // it has answered or died
  Status status;                                            // where done
  std::chrono::steady_clock::time_point when;               // where done
  std::optional<std::int64_t> collectives;                  // begun; where not done and known
  std::string activity;                                     // last reported
  std::string last_lines;                                   // of what it printed
  std::vector<wire::CollectiveNote> collective_notes = {};  // its last ones, by number
};

struct RankVerdict {
  Status status;
  std::size_t rank = 0;  // that failed; 0 where none did
};

// How the case ended for all ranks. A rank that died or failed by itself counts more than those
// that waited for it; among unfinished ranks the verdict names the one that did not arrive. Where
// the ranks have called different collectives, it names the one that called another than most, or
// than before, whoever noticed it.
RankVerdict verdict_of(const std::vector<RankEnd>& ranks, double time_limit_s);

// Whether the reason only says that another rank is gone.
bool blames_another_rank(const std::string& reason);

}  // namespace assay::run
