#include "conformance/recording.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "measure/host_time.h"

namespace assay::conformance {

namespace {

// A base unit, or a rate of two.
bool is_base_unit(const std::string& unit) {
  static const std::set<std::string> units = {"s",     "byte", "FLOP", "count",
                                              "token", "J",    "W",    "Hz"};
  const std::size_t slash = unit.find('/');
  if (slash == std::string::npos) return units.contains(unit);
  return units.contains(unit.substr(0, slash)) && units.contains(unit.substr(slash + 1));
}

}  // namespace

std::string wrong_in_metrics(const std::vector<MetricInfo>& metrics) {
  std::set<std::string> names;
  for (const MetricInfo& metric : metrics) {
    if (!metric.unit.empty() && !is_base_unit(metric.unit)) {
      return fmt::format(
          "metric '{}' is in '{}': base units are s, byte, FLOP, count, token, J, W, Hz, a rate of "
          "two such as byte/s, and none",
          metric.name, metric.unit);
    }
    if (metric.kind == MetricKind::text && !metric.unit.empty()) {
      return fmt::format("metric '{}' is text in '{}': text has no unit", metric.name, metric.unit);
    }
    if (metric.description.empty()) return "metric '" + metric.name + "' has no description";
    if (!names.insert(metric.name).second) return "metric '" + metric.name + "' is named twice";
  }
  return {};
}

TrialRecorder::TrialRecorder(const std::string& pass, const std::string& of,
                             const std::vector<MetricInfo>& metrics) {
  std::string pattern = std::filesystem::temp_directory_path() / "assay-check-XXXXXX";
  if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  recorder_.emplace(measure::host_now_s(), folder_,
                    worker::RecordingLimits{.artefact_bytes = std::int64_t{256} << 20});
  recorder_->begin(pass, of, metrics);
}

TrialRecorder::~TrialRecorder() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::string> TrialRecorder::recorded() {
  std::vector<std::string> words;
  for (const store::Series& series : recorder_->take_series()) {
    words.push_back(series.part.empty() ? series.metric : series.metric + " of " + series.part);
  }
  recorder_->check_files();
  for (const store::Artefact& artefact : recorder_->artefacts()) {
    words.push_back("file " + artefact.name);
  }
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace assay::conformance
