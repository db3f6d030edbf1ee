#include "report/data/errors_of_looks.h"

#include <optional>
#include <string>

namespace assay::report {
namespace {

void add(const std::string& pass, std::string_view metric, std::optional<double> figure,
         std::vector<store::Series>& all) {
  if (!figure) return;
  store::Series series;
  series.pass = pass;
  series.metric = metric;
  series.samples = {*figure};
  all.push_back(std::move(series));
}

}  // namespace

std::vector<store::Series> errors_of_looks(const store::CaseResult& result) {
  std::vector<store::Series> all;
  for (const auto& [pass, verification] : result.facts.verification) {
    add(pass, timed_error_metric, verification.timed.error, all);
    add(pass, error_ratio_metric, verification.timed.error_ratio, all);
  }
  return all;
}

}  // namespace assay::report
