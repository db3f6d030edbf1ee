#pragma once

#include <string>
#include <vector>

namespace assay {

// text: words such as a dtype or a device, shown and compared as they are, never in arithmetic.
enum class MetricKind { number, text };

enum class Direction { lower_is_better, higher_is_better, neither };

// Base units only: s, byte, FLOP, count, token, J, W, Hz, a rate of two such as byte/s, or "" for a
// ratio and for text.
struct MetricInfo {
  std::string name;
  std::string unit;
  Direction direction = Direction::lower_is_better;
  std::string description;   // one sentence
  std::string formula = {};  // where derived
  MetricKind kind = MetricKind::number;
};

// What a workload declares beside its parameters.
struct WorkloadInfo {
  std::vector<std::string> passes;
  std::vector<std::string> default_passes;
  std::vector<std::string> uses;  // kinds it is composed with: "attention", "precision", …
  std::vector<MetricInfo> metrics = {};
  std::string default_clock = "wall";       // on a GPU: "wall" or "cuda_event"
  std::vector<std::string> unclocked = {};  // of `passes`: run once and recorded, not timed
};

}  // namespace assay
