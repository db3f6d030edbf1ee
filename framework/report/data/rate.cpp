#include "report/data/rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/data/reduce.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

// The statistic of the time that yields the rate's; nullopt: computed from each sample's rate.
std::optional<Statistic> statistic_of_time(Statistic statistic) {
  switch (statistic) {
    case Statistic::mean:
    case Statistic::median:
      return statistic;
    case Statistic::min:
      return Statistic::max;
    case Statistic::max:
      return Statistic::min;
    case Statistic::p5:
      return Statistic::p95;
    case Statistic::p95:
      return Statistic::p5;
    case Statistic::ci_low:
      return Statistic::ci_high;
    case Statistic::ci_high:
      return Statistic::ci_low;
    case Statistic::median_ci_low:
      return Statistic::median_ci_high;
    case Statistic::median_ci_high:
      return Statistic::median_ci_low;
    default:
      return std::nullopt;
  }
}

tl::unexpected<std::string> because(std::string reason) {
  return tl::unexpected(std::move(reason));
}

std::vector<double> rates_of(std::vector<double> times, double count) {
  for (double& time : times) time = count / time;
  return times;
}

std::string not_measured(const std::string& name, const store::CaseResult& result) {
  const std::string device = store::text_of(result.parameters, "device");
  const std::string ranks = store::text_of(result.parameters, "world_size");
  const std::string backend = store::text_of(result.parameters, "backend");
  const bool matmul = name.starts_with("matmul");
  std::string what = device.empty() ? name : fmt::format("{} on {}", name, device);
  std::string command =
      fmt::format("{}{}{}", matmul ? "matmul" : "copy", device.empty() ? "" : " --device ", device);
  if (!matmul && name != "copy") {
    what = fmt::format("{} of {} ranks over {}", name, ranks, backend);
    command = fmt::format("all_reduce --set world_size={} --set backend={}", ranks, backend);
  }
  return fmt::format("no calibration of this machine has measured {}; `assay calibrate {}` does",
                     what, command);
}

}  // namespace

RateOfRecords::RateOfRecords(const Records& records, const Measure& measure)
    : records_(records), measure_(measure) {
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const store::Series& series = *records[id].series;
    if (series.metric != measure.rate->count || series.outcome != Outcome::ok) continue;
    counts_[place(id)].push_back(&series);
  }
}

RateOfRecords::Place RateOfRecords::place(std::uint32_t id) const {
  return {records_[id].case_number, records_.code(id, pass_axis), records_.code(id, part_axis)};
}

auto RateOfRecords::count_of_sample(const RecordIds& ids) const -> OrReason<double> {
  std::optional<double> common;
  for (const std::uint32_t id : ids) {
    const auto found = counts_.find(place(id));
    const auto count = found == counts_.end()
                           ? std::nullopt
                           : reduce(found->second, RankRule::mean, Statistic::mean);
    const store::CaseResult& result = *records_[id].result;
    if (!count) {
      const std::string workload = store::text_of(result.parameters, "workload");
      return because(fmt::format("{} are not counted in pass {}{}", measure_.rate->count,
                                 records_[id].series->pass,
                                 workload.empty() ? "" : " of " + workload));
    }
    const std::string& unit = found->second.front()->unit;
    const std::string base = measure_.rate->unit.substr(0, measure_.rate->unit.rfind("/s"));
    const double in_base = same_dimension(unit, base) ? convert(*count, unit, base) : *count;
    const double of_sample = in_base * calls_per_sample(result.parameters);
    if (common && *common != of_sample) {
      return because(
          fmt::format("the pooled results have different counts of {}", measure_.rate->count));
    }
    common = of_sample;
  }
  return *common;
}

auto RateOfRecords::ceiling_of(std::uint32_t id) const -> OrReason<const Ceiling*> {
  const store::CaseResult& result = *records_[id].result;
  const Ceilings* known = records_.ceilings(id);
  if (known == nullptr) {
    return because("no calibration of this machine is known; `assay calibrate` makes one");
  }
  const auto name = ceiling_meant(measure_.rate->share_of, measure_.rate->count,
                                  records_[id].series->pass, result.parameters);
  if (!name) {
    return because(fmt::format(
        "precision '{}' names no dtype; name the ceiling, such as share_of: matmul_bf16",
        store::text_of(result.parameters, "precision")));
  }
  const Ceiling* ceiling = known->find(*name, result.parameters);
  if (ceiling == nullptr) return because(not_measured(*name, result));
  return ceiling;
}

std::string RateOfRecords::formula(const store::CaseResult& result, const Ceiling* ceiling) const {
  const std::optional<Statistic> statistic = statistic_of_time(measure_.statistic);
  std::string time = "time";
  if (statistic && *statistic != Statistic::mean) {
    time = fmt::format("{} time", statistic_name(*statistic));
  }
  std::string text = measure_.rate->count;
  if (const double calls = calls_per_sample(result.parameters); calls > 1) {
    text += fmt::format(" * {:g} calls", calls);
  }
  text += " / " + time;
  if (ceiling) {
    text += fmt::format(" / {}: {} of {} ({})", value_with_unit(*ceiling), ceiling->name,
                        ceiling->run, ceiling->formula);
  }
  if (!statistic && measure_.statistic != Statistic::samples) {
    text = fmt::format("{} of {}", statistic_name(measure_.statistic), text);
  }
  return text;
}

Cell RateOfRecords::cell(const RecordIds& ids, const std::vector<const store::Series*>& times,
                         RankRule rule) const {
  const auto count = count_of_sample(ids);
  if (!count) return Cell::undefined(count.error());
  const Ceiling* ceiling = nullptr;
  if (!measure_.rate->share_of.empty()) {
    const auto found = ceiling_of(ids.front());
    if (!found) return Cell::undefined(found.error());
    ceiling = *found;
  }
  const std::string base = ceiling ? "" : measure_.rate->unit;
  const std::string& shown = measure_.unit.empty() ? base : measure_.unit;
  const auto in_shown = [&](double rate) {
    return convert(ceiling ? rate / ceiling->value : rate, base, shown);
  };
  const std::string& unit_of_time = times.front()->unit;
  const auto count_by = *count / convert(1, unit_of_time.empty() ? "s" : unit_of_time, "s");
  Cell cell;
  if (measure_.statistic == Statistic::samples) {
    cell.kind = Cell::Kind::list;
    for (const double rate : rates_of(over_ranks(times, rule), count_by)) {
      cell.list.push_back(in_shown(rate));
    }
  } else {
    std::optional<double> rate;
    if (const auto statistic = statistic_of_time(measure_.statistic)) {
      const auto time = reduce(times, rule, *statistic);
      if (time && *time > 0) rate = count_by / *time;
    } else if (const auto samples = over_ranks(times, rule); !samples.empty()) {
      rate = reduce(rates_of(samples, count_by), measure_.statistic);
    }
    if (!rate || !std::isfinite(*rate)) return Cell();
    cell = Cell::of(in_shown(*rate));
    cell.is_uncertainty = is_uncertainty(measure_.statistic);
    if (const auto behind = uncertainty_of(measure_.statistic)) {
      const auto time = reduce(times, rule, measure_.statistic);
      const auto uncertainty = reduce(times, rule, *behind);
      if (uncertainty && *time > 0) cell.uncertainty = cell.number * *uncertainty / *time;
    }
  }
  cell.unit = shown;
  cell.formula = formula(*records_[ids.front()].result, ceiling);
  return cell;
}

}  // namespace assay::report
