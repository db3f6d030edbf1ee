#pragma once

#include <string>
#include <vector>

#include "health/reading.h"

namespace assay::health {

// How much is read. Each includes the ones before it.
enum class Depth {
  glance,    // what changes from moment to moment: clocks, power, temperature
  edge,      // what is counted up: read as a case begins and ends
  thorough,  // what takes longer: processes, what held clocks down, slow frequencies of cores
};

// Something that can be asked how the machine is. Called from one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Adds what it knows; `devices` are the GPUs of interest.
  virtual void read(Depth depth, const std::vector<int>& devices, Reading& reading) = 0;
  // "GPU" or "CPU".
  virtual std::string subject() const = 0;
  // Why it has nothing to say; "" when it has.
  virtual std::string problem() const = 0;
};

}  // namespace assay::health
