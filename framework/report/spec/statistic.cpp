#include "report/spec/statistic.h"

#include <array>

namespace assay::report {
namespace {

constexpr std::array<std::pair<std::string_view, Statistic>, 20> statistics{{
    {"mean", Statistic::mean},
    {"std", Statistic::std},
    {"std_population", Statistic::std_population},
    {"median", Statistic::median},
    {"min", Statistic::min},
    {"max", Statistic::max},
    {"p5", Statistic::p5},
    {"p95", Statistic::p95},
    {"p99", Statistic::p99},
    {"iqr", Statistic::iqr},
    {"ci_low", Statistic::ci_low},
    {"ci_high", Statistic::ci_high},
    {"median_ci_low", Statistic::median_ci_low},
    {"median_ci_high", Statistic::median_ci_high},
    {"margin", Statistic::margin},
    {"n", Statistic::n},
    {"sum", Statistic::sum},
    {"autocorrelation", Statistic::autocorrelation},
    {"drift", Statistic::drift},
    {"samples", Statistic::samples},
}};

}  // namespace

std::optional<Centre> centre_of(Statistic statistic) {
  switch (statistic) {
    case Statistic::mean:
    case Statistic::std:
    case Statistic::std_population:
    case Statistic::ci_low:
    case Statistic::ci_high:
      return Centre::mean;
    case Statistic::median:
    case Statistic::median_ci_low:
    case Statistic::median_ci_high:
    case Statistic::margin:
      return Centre::median;
    default:
      return std::nullopt;
  }
}

Statistic statistic_of(Centre centre) {
  return centre == Centre::mean ? Statistic::mean : Statistic::median;
}

std::optional<Statistic> uncertainty_of(Statistic statistic) {
  if (statistic == Statistic::mean) return Statistic::std;
  if (statistic == Statistic::median) return Statistic::margin;
  return std::nullopt;
}

bool is_uncertainty(Statistic statistic) {
  return statistic == Statistic::std || statistic == Statistic::std_population ||
         statistic == Statistic::margin;
}

std::string_view centre_name(Centre centre) { return statistic_name(statistic_of(centre)); }

std::string_view statistic_name(Statistic statistic) {
  for (const auto& [name, value] : statistics) {
    if (value == statistic) return name;
  }
  return "";
}

std::optional<Statistic> statistic_from_text(std::string_view text) {
  for (const auto& [name, value] : statistics) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool has_unit(Statistic statistic) {
  return statistic != Statistic::n && statistic != Statistic::autocorrelation &&
         statistic != Statistic::drift;
}

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, value] : statistics) all.emplace_back(name);
    return all;
  }();
  return names;
}

const std::vector<Statistic>& statistics_of_rates() {
  static const std::vector<Statistic> statistics{Statistic::mean,
                                                 Statistic::median,
                                                 Statistic::min,
                                                 Statistic::max,
                                                 Statistic::p5,
                                                 Statistic::p95,
                                                 Statistic::std,
                                                 Statistic::std_population,
                                                 Statistic::iqr,
                                                 Statistic::ci_low,
                                                 Statistic::ci_high,
                                                 Statistic::median_ci_low,
                                                 Statistic::median_ci_high,
                                                 Statistic::margin,
                                                 Statistic::n,
                                                 Statistic::samples};
  return statistics;
}

}  // namespace assay::report
