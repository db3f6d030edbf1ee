#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/collective_notes.h"

namespace assay::run {

// Where ranks part that should all call the same collectives in the same order.
struct CollectiveDifference {
  std::optional<std::size_t> rank;  // that called another one; nothing where two ranks differ and
                                    // none has done so before
  std::string words;  // "rank 1 called all_reduce of 8 bytes of float, the others …"
};

// Nothing where all ranks agree in what can still be seen of each. `of_ranks`: the last collectives
// of each rank, by number.
std::optional<CollectiveDifference> collective_difference(
    const std::vector<std::vector<wire::CollectiveNote>>& of_ranks);

}  // namespace assay::run
