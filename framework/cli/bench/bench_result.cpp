#include "cli/bench/bench_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/show/case_names.h"
#include "compare/compare.h"
#include "report/data/reduce.h"
#include "statistics/median_interval.h"
#include "store/records/marks.h"

namespace assay::cli {

namespace {

constexpr const char* repeat = "repeat";

bool is_option(const std::string& name, const std::string& kind) {
  return name.starts_with(kind + ".");
}

std::vector<std::string> varying(const store::Run& run) {
  std::vector<const store::CaseResult*> cases;
  for (const store::CaseResult& result : run.cases) cases.push_back(&result);
  return case_names(cases).varying;
}

class RowReader {
 public:
  RowReader(const store::Run& run, BenchResult& result)
      : run_(run), result_(result), varying_(varying(run)) {
    for (const std::string& name : varying_) {
      if (name != repeat && name != result.kind && !is_option(name, result.kind)) {
        result_.names.push_back(name);
      }
    }
  }

  void read() {
    for (const store::CaseResult& result : run_.cases) {
      std::vector<std::string> passes;
      for (const store::Series& series : result.series) {
        if (series.metric != "time" || !series.part.empty()) continue;
        if (std::ranges::count(passes, series.pass) == 0) passes.push_back(series.pass);
      }
      if (passes.empty()) passes = result.facts.passes.value_or(std::vector<std::string>{""});
      for (const std::string& pass : passes) add(result, pass, row_of(result, pass));
    }
  }

 private:
  BenchRow& row_of(const store::CaseResult& result, const std::string& pass) {
    store::Parameters parameters = result.parameters;
    parameters.erase(repeat);
    for (BenchRow& row : result_.rows) {
      if (row.pass == pass && row.parameters == parameters) return row;
    }
    BenchRow row;
    for (const std::string& name : result_.names)
      row.place[name] = store::text_of(parameters, name);
    row.variant = store::text_of(parameters, result_.kind);
    std::vector<std::string> options;
    for (const std::string& name : varying_) {
      if (!is_option(name, result_.kind) || !varies_within(row.variant, name)) continue;
      options.push_back(name.substr(result_.kind.size() + 1) + " " +
                        store::text_of(parameters, name));
    }
    if (!options.empty()) row.variant += " (" + join(options, ", ") + ")";
    row.pass = pass;
    row.parameters = std::move(parameters);
    result_.rows.push_back(std::move(row));
    return result_.rows.back();
  }

  // Whether cases of one variant differ in an option; other variants lack it anyway.
  bool varies_within(const std::string& variant, const std::string& option) const {
    std::set<std::string> values;
    for (const store::CaseResult& result : run_.cases) {
      if (store::text_of(result.parameters, result_.kind) != variant) continue;
      values.insert(store::text_of(result.parameters, option));
    }
    return values.size() > 1;
  }

  static void add(const store::CaseResult& result, const std::string& pass, BenchRow& row) {
    std::vector<const store::Series*> ranks;
    for (const store::Series& series : result.series) {
      if (series.metric != "time" || !series.part.empty() || series.pass != pass) continue;
      note(series.outcome, series.reason, row);
      for (const store::Mark& mark : store::marks_of(result, series)) {
        if (std::ranges::count(row.marks, mark) == 0) row.marks.push_back(mark);
      }
      const bool counts = series.outcome == Outcome::ok && !store::discarded_for(result, series);
      if (counts) ranks.push_back(&series);
    }
    if (const auto& facts = result.facts.interleaved; facts && facts->apart) {
      row.apart = *facts->apart;
    }
    if (ranks.empty()) return note(result.outcome, result.reason, row);
    const auto samples = report::over_ranks(ranks, report::RankRule::maximum);
    if (samples.empty()) return;
    row.samples.insert(row.samples.end(), samples.begin(), samples.end());
    row.sizes.push_back(samples.size());
  }

  static void note(Outcome outcome, const std::string& reason, BenchRow& row) {
    if (row.outcome != Outcome::ok || outcome == Outcome::ok) return;
    row.outcome = outcome;
    row.reason = reason;
  }

  const store::Run& run_;
  BenchResult& result_;
  std::vector<std::string> varying_;
};

compare::Sampled sampled(const BenchRow& row) { return {row.samples, row.sizes}; }

compare::Criteria criteria_for(const BenchRow& row) {
  compare::Criteria criteria;
  criteria.between_runs = store::text_of(row.parameters, "device") == "cuda"
                              ? compare::between_runs_on_gpu
                              : compare::between_runs_on_cpu;
  return criteria;
}

void compare_variants(BenchResult& result) {
  std::vector<bool> done(result.rows.size(), false);
  for (std::size_t first = 0; first < result.rows.size(); ++first) {
    if (done[first]) continue;
    std::vector<const BenchRow*> rows;
    for (std::size_t i = first; i < result.rows.size(); ++i) {
      const BenchRow& row = result.rows[i];
      if (row.place != result.rows[first].place || row.pass != result.rows[first].pass) continue;
      done[i] = true;
      if (row.measured() && !store::unproven(row.marks)) rows.push_back(&row);
    }
    if (rows.size() < 2) continue;
    std::ranges::stable_sort(rows, {}, &BenchRow::median_s);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      result.comparisons.push_back(
          {rows[0], rows[i],
           compare::judge(sampled(*rows[0]), sampled(*rows[i]), criteria_for(*rows[i]))});
    }
  }
}

}  // namespace

double BenchRow::median_s() const { return compare::middle(sampled(*this)); }

double BenchRow::reach_s() const {
  const auto interval = statistics::median_interval(samples);
  return std::max(interval.high - interval.median, interval.median - interval.low);
}

BenchResult bench_result(const store::Run& run, const std::string& kind) {
  BenchResult result;
  result.run = run.info.name;
  result.kind = kind;
  RowReader(run, result).read();
  compare_variants(result);
  return result;
}

void add_changes(const store::Run& baseline, const std::string& name, BenchResult& result) {
  result.baseline = name;
  const BenchResult before = bench_result(baseline, result.kind);
  for (BenchRow& row : result.rows) {
    const auto was = std::ranges::find_if(before.rows, [&](const BenchRow& each) {
      return each.pass == row.pass && each.parameters == row.parameters;
    });
    if (was == before.rows.end() || !was->measured() || !row.measured()) continue;
    if (store::unproven(was->marks) || store::unproven(row.marks)) continue;
    row.change = compare::judge(sampled(*was), sampled(row), criteria_for(row));
  }
}

}  // namespace assay::cli
