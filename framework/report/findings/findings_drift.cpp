#include <fmt/format.h>

#include <algorithm>

#include "report/document/markdown_table.h"
#include "report/findings/findings.h"

namespace assay::report {
namespace {

// What the cases of one precision have left.
struct Drift {
  std::string precision;
  std::size_t steps = 0;               // the most of a case
  std::vector<double> loss, gradient;  // relative errors, one a case
  double skipped = 0, skippable = 0;   // steps of all cases
};

std::string percent_of(std::vector<double> errors) {
  const auto [least, most] = std::minmax_element(errors.begin(), errors.end());
  const std::string low = fmt::format("{:.2g}", 100 * *least);
  const std::string high = fmt::format("{:.2g}", 100 * *most);
  if (low == high) return high + " %";
  return fmt::format("{} % to {} %", low, high);
}

void add(Drift& drift, const store::Series& series) {
  const double first = series.samples.front();
  if (series.metric == "last_loss_error") drift.loss.push_back(first);
  if (series.metric == "first_gradient_error") drift.gradient.push_back(first);
  if (series.metric == "compared_skips") drift.skipped += first;
  if (series.metric == "loss_error") {
    drift.steps = std::max(drift.steps, series.samples.size());
    drift.skippable += static_cast<double>(series.samples.size());
  }
}

std::string sentence_of(const Drift& drift) {
  std::string text = fmt::format("**drift, {}**: after {} training steps the loss is {} off fp32's",
                                 escape_cell(drift.precision), drift.steps, percent_of(drift.loss));
  if (drift.loss.size() > 1) text += fmt::format(" ({} cases)", drift.loss.size());
  if (!drift.gradient.empty()) {
    text += fmt::format("; the first gradients are {} off", percent_of(drift.gradient));
  }
  if (drift.skipped > 0) {
    text += fmt::format("; {} of {} steps were skipped", drift.skipped, drift.skippable);
  }
  return text + ".";
}

}  // namespace

std::vector<std::string> drift_findings(const Records& records, const RecordIds& ids) {
  std::vector<Drift> drifts;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.outcome != Outcome::ok || series.samples.empty() || !series.part.empty()) continue;
    const std::string precision = store::text_of(records[id].result->parameters, "precision");
    auto at = std::ranges::find(drifts, precision, &Drift::precision);
    if (at == drifts.end()) at = drifts.insert(at, Drift{precision, 0, {}, {}, 0, 0});
    add(*at, series);
  }
  std::vector<std::string> sentences;
  for (const Drift& drift : drifts) {
    if (!drift.loss.empty()) sentences.push_back(sentence_of(drift));
  }
  return sentences;
}

}  // namespace assay::report
