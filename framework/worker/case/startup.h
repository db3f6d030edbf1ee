#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/records/records.h"

namespace assay::worker {

// How long this process has taken from its start to its first call, stage by stage. Worth knowing
// only where the process was started for the case.
class Startup {
 public:
  // The first stage is the process itself, until now.
  Startup();
  // Ends the stage that lies between the last one and now.
  void ended(const std::string& stage);
  // Of the pass whose first call ended last: startup_time by stage, total_time.
  std::vector<store::Series> series(const std::string& pass) const;

 private:
  double last_s_;
  std::vector<std::pair<std::string, double>> stages_;
};

}  // namespace assay::worker
