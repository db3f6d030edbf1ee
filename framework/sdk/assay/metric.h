#pragma once

#include <string>

namespace assay {

enum class Direction { lower_is_better, higher_is_better, neither };

// A metric describes itself; base units only: s, byte, FLOP, count, or "" for a ratio.
struct MetricInfo {
  std::string name;
  std::string unit;
  Direction direction = Direction::lower_is_better;
  std::string description;   // one sentence
  std::string formula = {};  // where it is derived
};

}  // namespace assay
