#pragma once

#include <string>
#include <vector>

#include "health/reading.h"

namespace assay::health {

// Each depth includes the ones before it.
enum class Depth {
  glance,    // momentary figures: clocks, power, temperature
  edge,      // counters, as a case begins and ends
  thorough,  // slow figures: processes, time of clocks held down, slow frequencies of cores
};

// A source of readings. Called from one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Adds its figures; `devices` are the GPUs of interest.
  virtual void read(Depth depth, const std::vector<int>& devices, Reading& reading) = 0;
  // "GPU" or "CPU".
  virtual std::string subject() const = 0;
  // Why it has no figures, or "".
  virtual std::string problem() const = 0;
};

}  // namespace assay::health
