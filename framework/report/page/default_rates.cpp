#include "report/page/default_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "report/data/ceilings.h"
#include "report/data/reduce.h"
#include "report/page/default_spec.h"
#include "report/spec/units.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

constexpr std::pair<const char*, const char*> counted[] = {
    {"flops", "FLOP/s"}, {"bytes", "byte/s"}, {"bus_bytes", "byte/s"}};

// A count and a time of one pass of one case.
struct CountedPass {
  std::uint32_t record;
  const store::Series* count;
  const store::Series* time;
};

std::vector<CountedPass> counted_passes(const Records& records, std::string_view count) {
  std::vector<CountedPass> found;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const store::Series& series = *records[id].series;
    if (series.metric != "time" || !series.part.empty() || series.outcome != Outcome::ok) continue;
    for (const store::Series& other : records[id].result->series) {
      if (other.metric == count && other.pass == series.pass && other.part.empty() &&
          other.outcome == Outcome::ok) {
        found.push_back({id, &other, &series});
        break;
      }
    }
  }
  return found;
}

bool has_ceiling(const Records& records, const CountedPass& one, std::string_view count) {
  const Ceilings* known = records.ceilings(one.record);
  const store::Parameters& parameters = records[one.record].result->parameters;
  if (known == nullptr) return false;
  const auto name = ceiling_meant("auto", count, one.time->pass, parameters);
  return name && known->find(*name, parameters) != nullptr;
}

std::string unit_of_rates(const Records& records, const std::vector<CountedPass>& passes,
                          const std::string& base) {
  std::vector<double> rates;
  for (const CountedPass& one : passes) {
    const auto count = reduce({one.count}, RankRule::mean, Statistic::mean);
    const auto time = reduce({one.time}, RankRule::maximum, Statistic::mean);
    if (!count || !time || !(*time > 0)) continue;
    const double calls = calls_per_sample(records[one.record].result->parameters);
    const std::string of_count = base.substr(0, base.rfind("/s"));
    const std::string& unit = one.time->unit;
    rates.push_back(convert(*count, one.count->unit, of_count) * calls /
                    convert(*time, unit.empty() ? "s" : unit, "s"));
  }
  return rates.empty() ? base : sensible_unit(statistics::median(rates), base);
}

Column rate_column(const std::string& pass, const std::string& count, const std::string& unit) {
  Column column;
  Measure measure;
  measure.metric = "time";
  measure.rate = Rate{count, count == "flops" ? "FLOP/s" : "byte/s", ""};
  measure.unit = unit;
  measure.where.conditions.push_back({"pass", {pass}});
  column.name = fmt::format("{} {} [{}]", pass, count, unit);
  column.content = std::move(measure);
  return column;
}

Column share_column(const std::string& pass, const std::string& count, const std::string& base) {
  Column column = rate_column(pass, count, base);
  auto& measure = std::get<Measure>(column.content);
  measure.rate->share_of = "auto";
  measure.unit = "%";
  column.name = fmt::format("{} {} of ceiling [%]", pass, count);
  return column;
}

}  // namespace

bool counts_work(const Records& records) {
  return std::ranges::any_of(
      counted, [&](const auto& one) { return !counted_passes(records, one.first).empty(); });
}

std::vector<Block> rate_blocks(const Records& records) {
  TableSpec table;
  table.grid.varying_rows = true;
  if (records.sources().size() > 1) table.grid.keys.push_back("source");
  for (const auto& [count, base] : counted) {
    std::vector<std::pair<std::string, std::vector<CountedPass>>> by_pass;
    for (const CountedPass& one : counted_passes(records, count)) {
      auto at = std::ranges::find_if(
          by_pass, [&](const auto& known) { return known.first == one.time->pass; });
      if (at == by_pass.end()) at = by_pass.insert(at, {one.time->pass, {}});
      at->second.push_back(one);
    }
    for (const auto& [pass, of_pass] : by_pass) {
      table.grid.columns.push_back(rate_column(pass, count, unit_of_rates(records, of_pass, base)));
      const bool known = std::ranges::any_of(
          of_pass, [&](const CountedPass& one) { return has_ceiling(records, one, count); });
      if (known) table.grid.columns.push_back(share_column(pass, count, base));
    }
  }
  if (table.grid.columns.empty()) return {};
  add_source_column(records, table);
  return {HeadingSpec{3, "Rates"}, std::move(table)};
}

}  // namespace assay::report
