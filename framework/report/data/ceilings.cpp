#include "report/data/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "report/data/reduce.h"
#include "report/spec/ceiling_names.h"
#include "report/spec/units.h"
#include "store/records/marks.h"

namespace assay::report {
namespace {

bool is_collective(std::string_view name) {
  return std::find(std::begin(ceiling_collectives), std::end(ceiling_collectives), name) !=
         std::end(ceiling_collectives);
}

struct Reached {
  Ceiling ceiling;
  std::string count;  // metric
  const store::CaseResult* result;
  std::string marks;  // of its times: "throttled, wide"
};

// The pass' series of a metric, one per rank; empty where one failed or was discarded.
std::vector<const store::Series*> series_of(const store::CaseResult& result,
                                            const std::string& pass, const std::string& metric) {
  std::vector<const store::Series*> found;
  for (const store::Series& series : result.series) {
    if (series.pass != pass || series.metric != metric || !series.part.empty()) continue;
    if (series.outcome != Outcome::ok || store::discarded_for(result, series)) return {};
    found.push_back(&series);
  }
  return found;
}

std::string marks_in_words(const store::CaseResult& result, const store::Series& time) {
  std::vector<std::string> words;
  for (const store::Mark& mark : store::marks_of(result, time)) {
    if (std::find(words.begin(), words.end(), mark.mark) == words.end()) words.push_back(mark.mark);
  }
  return join(words, ", ");
}

std::optional<Reached> identified(const store::CaseResult& result, const store::Series& time) {
  Reached reached{{}, {}, &result, marks_in_words(result, time)};
  const store::Parameters& parameters = result.parameters;
  const std::string workload = store::text_of(parameters, "workload");
  Ceiling& ceiling = reached.ceiling;
  ceiling.device = store::text_of(parameters, "device");
  ceiling.unit = "byte/s";
  if (workload == "copy") {
    ceiling.name = "copy";
    reached.count = "bytes";
  } else if (workload == "matmul") {
    ceiling.name = "matmul_" + store::text_of(parameters, "dtype");
    ceiling.unit = "FLOP/s";
    reached.count = "flops";
  } else if (workload == "collective" && is_collective(time.pass)) {
    ceiling.name = time.pass;
    ceiling.backend = store::text_of(parameters, "backend");
    ceiling.ranks = store::integer_of(parameters, "world_size", 1);
    reached.count = "bus_bytes";
  } else if (workload == "launch") {
    ceiling.name = "launch_" + store::text_of(parameters, "operation") +
                   (store::text_of(parameters, "launches") == "1" ? "" : "_in_a_row") +
                   (time.clock == "cuda_graph" ? "_graph" : "");
    ceiling.unit = "s";
    reached.count = "launches";
  } else {
    return std::nullopt;
  }
  return reached;
}

std::optional<Reached> reached_by(const store::CaseResult& result, const std::string& pass) {
  const auto times = series_of(result, pass, "time");
  if (times.empty()) return std::nullopt;
  auto reached = identified(result, *times.front());
  if (!reached) return std::nullopt;
  const auto counts = series_of(result, pass, reached->count);
  const auto time = reduce(times, RankRule::maximum, Statistic::median);
  if (counts.empty() || !time) return std::nullopt;
  const auto count = reduce(counts, RankRule::mean, Statistic::mean);
  if (!count || !(*count > 0) || !(*time > 0)) return std::nullopt;
  const double calls = calls_per_sample(result.parameters);
  reached->ceiling.value =
      reached->ceiling.unit == "s" ? *time / (*count * calls) : *count * calls / *time;
  return reached;
}

bool same_ceiling(const Ceiling& a, const Ceiling& b) {
  return a.name == b.name && a.device == b.device && a.backend == b.backend && a.ranks == b.ranks;
}

bool higher(const Ceiling& a, const Ceiling& b) {
  return a.unit == "s" ? a.value < b.value : a.value > b.value;
}

std::string value_text(const std::string& name, const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return name == "size" && whole ? human_size(*whole) : to_text(value);
}

// "size 1.00 GiB": the parameters that distinguish the best case.
std::string place_of(const Reached& best, const std::vector<const Reached*>& tried) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : best.result->parameters) {
    const bool differs = std::any_of(
        tried.begin(), tried.end(), [&, &name = name, &value = value](const Reached* other) {
          return store::value_of(other->result->parameters, name) != value;
        });
    if (differs) parts.push_back(name + " " + value_text(name, value));
  }
  return join(parts, ", ");
}

std::string formula_of(const Reached& best, const std::vector<const Reached*>& tried) {
  std::string text = best.ceiling.unit == "s" ? fmt::format("median time / {}", best.count)
                                              : fmt::format("{} / median time", best.count);
  if (tried.size() > 1) {
    const std::string place = place_of(best, tried);
    text += fmt::format(", best of {}{}{}", tried.size(), place.empty() ? "" : ": ", place);
  }
  return best.marks.empty() ? text : text + "; measured while " + best.marks;
}

std::vector<Reached> all_reached(const store::Run& run) {
  std::vector<Reached> all;
  for (const store::CaseResult& result : run.cases) {
    std::set<std::string> passes;
    for (const store::Series& series : result.series) passes.insert(series.pass);
    for (const std::string& pass : passes) {
      if (auto reached = reached_by(result, pass)) all.push_back(std::move(*reached));
    }
  }
  return all;
}

}  // namespace

void Ceilings::prefer_all_reduces_of(const store::Run& run) {
  std::vector<AllReduces> preferred = all_reduces_of(run);
  std::ranges::move(all_reduces_, std::back_inserter(preferred));
  all_reduces_ = std::move(preferred);
}

void Ceilings::add(const store::Run& calibration) {
  std::ranges::move(all_reduces_of(calibration), std::back_inserter(all_reduces_));
  const std::vector<Reached> all = all_reached(calibration);
  for (const Reached& first : all) {
    const auto same = [&](const Ceiling& ceiling) { return same_ceiling(ceiling, first.ceiling); };
    if (std::any_of(all_.begin(), all_.end(), same)) continue;
    std::vector<const Reached*> tried;
    for (const Reached& reached : all) {
      if (same(reached.ceiling)) tried.push_back(&reached);
    }
    const Reached& best = **std::min_element(
        tried.begin(), tried.end(),
        [](const Reached* a, const Reached* b) { return higher(a->ceiling, b->ceiling); });
    Ceiling ceiling = best.ceiling;
    ceiling.formula = formula_of(best, tried);
    for (const Reached* reached : tried) {
      const char* size = ceiling.name == "copy" ? "size" : "m";
      ceiling.largest =
          std::max(ceiling.largest, store::integer_of(reached->result->parameters, size, 0));
    }
    ceiling.marked = !best.marks.empty();
    ceiling.run = calibration.info.name;
    all_.push_back(std::move(ceiling));
  }
}

const Ceiling* Ceilings::find(std::string_view name, const store::Parameters& of_case) const {
  const std::string device = store::text_of(of_case, "device");
  const std::string backend = store::text_of(of_case, "backend");
  for (const Ceiling& ceiling : all_) {
    if (ceiling.name != name || (!device.empty() && ceiling.device != device)) continue;
    if (is_collective(name) && (ceiling.backend != backend ||
                                ceiling.ranks != store::integer_of(of_case, "world_size", 1))) {
      continue;
    }
    return &ceiling;
  }
  return nullptr;
}

std::string value_with_unit(const Ceiling& ceiling) {
  const std::string unit = sensible_unit(ceiling.value, ceiling.unit);
  return fmt::format("{:.4g} {}", convert(ceiling.value, ceiling.unit, unit), unit);
}

std::optional<std::string> ceiling_meant(std::string_view asked, std::string_view count,
                                         std::string_view pass, const store::Parameters& of_case) {
  if (asked != "auto" && asked != "matmul") return std::string(asked);
  if (asked == "auto" && count == "bus_bytes" && is_collective(pass)) return std::string(pass);
  if (asked == "auto" && count.ends_with("bytes")) return "copy";
  for (const char* name : {"precision", "dtype"}) {
    // "bf16_master" multiplies in bf16.
    const std::string named = store::text_of(of_case, name);
    const std::string dtype = named.substr(0, named.find('_'));
    if (std::find(std::begin(ceiling_dtypes), std::end(ceiling_dtypes), dtype) !=
        std::end(ceiling_dtypes)) {
      return "matmul_" + dtype;
    }
  }
  return std::nullopt;
}

double calls_per_sample(const store::Parameters& of_case) {
  const auto calls = store::integer_of(of_case, "measure.calls_per_sample", 1);
  return static_cast<double>(std::max<std::int64_t>(calls, 1));
}

}  // namespace assay::report
