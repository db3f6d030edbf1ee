#pragma once

#include <assay/ops.h>

#include <functional>
#include <optional>
#include <vector>

#include "compile/fused_parts/finished_weights.h"

namespace assay::fused {

// Updates, by their number among the inputs, that begin beside the backward.
struct EarlyUpdates {
  std::vector<bool> begun;
  std::optional<CapturePlace> end;  // behind the last of them
};

// Where a step is captured: calls `launch` with updates of weights that the backward is done with,
// some at a time, at the place in the graph where it is. They run one behind the other, beside
// what the backward does behind that place. The current stream goes on where it was.
EarlyUpdates begin_early(const OptimizerInputs& in, const FinishedWeights& finished,
                         const std::function<void(const std::vector<std::size_t>&)>& launch);

}  // namespace assay::fused
