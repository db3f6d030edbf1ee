#pragma once

#include <map>
#include <string>
#include <vector>

#include "support.h"
#include "worker/record/recorder.h"

namespace assay::test {

// What a program records of a pass: samples and words by metric and part.
class Recorded {
 public:
  Recorded(const std::string& workload, ProgramBoundary& program, const std::string& pass) {
    PluginDescription description;
    throw_unless_ok(entry("workload", workload, workload).describe(description));
    worker::CaseRecorder recorder(0, "", {});
    recorder.begin(pass, "it", description.workload.metrics);
    throw_unless_ok(program.record(pass, recorder));
    for (store::Series& series : recorder.take_series()) {
      series_[{series.metric, series.part}] = std::move(series);
    }
  }

  bool has(const std::string& metric, const std::string& part = "") const {
    return series_.contains({metric, part});
  }
  std::vector<double> samples(const std::string& metric, const std::string& part = "") const {
    return series_.at({metric, part}).samples;
  }
  double value(const std::string& metric, const std::string& part = "") const {
    return samples(metric, part).at(0);
  }
  std::string word(const std::string& metric, const std::string& part = "") const {
    return series_.at({metric, part}).words.at(0);
  }

 private:
  std::map<std::pair<std::string, std::string>, store::Series> series_;
};

// Builds the case's program, calls the pass once and gives what it records.
inline Recorded recorded(const Case& tested, const std::string& workload, const std::string& pass) {
  const auto program = build(tested);
  throw_unless_ok(program->before(pass));
  throw_unless_ok(program->run(pass));
  return {workload, *program, pass};
}

}  // namespace assay::test
