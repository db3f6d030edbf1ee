#include "report/data/records.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "report/data/bucket_models.h"
#include "report/data/derived_axes.h"
#include "report/data/errors_of_looks.h"

namespace assay::report {

namespace {

// Ranks tell their results as they come; tables have rank after rank.
std::vector<const store::Series*> by_rank(const std::vector<store::Series>& all) {
  std::vector<const store::Series*> sorted;
  for (const store::Series& series : all) sorted.push_back(&series);
  if (std::ranges::all_of(all, [](const auto& series) { return series.rank == 0; })) return sorted;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> first;
  const auto group = [&](const store::Series& series) {
    return first.try_emplace({series.pass, series.metric, series.part}, first.size()).first->second;
  };
  std::ranges::for_each(all, group);
  std::ranges::stable_sort(sorted, {}, [&](const store::Series* series) {
    return std::pair(group(*series), series->rank);
  });
  return sorted;
}

}  // namespace

Records::Records(const std::vector<Source>& sources) {
  for (const Source& source : sources) sources_.push_back(source.run);
  collect_axes(sources);
  std::size_t count = 0;
  for (const store::Run* run : sources_) {
    for (const store::CaseResult& result : run->cases) count += result.series.size();
  }
  records_.reserve(count);
  codes_.reserve(count * axes_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) add_source(i);
}

Records::Records(const config::Plan& plan, const std::vector<std::string>& passes,
                 const std::map<std::string, nlohmann::json>& presets) {
  for (const std::string_view name : series_axes) add_axis(std::string(name));
  constexpr std::uint32_t unseen = UINT32_MAX;
  std::vector<std::size_t> columns;
  std::vector<std::vector<std::uint32_t>> known;  // codes by place in the column
  for (std::size_t column = 0; column < plan.columns().size(); ++column) {
    const std::string& name = plan.columns()[column].name;
    if (axis(name)) continue;
    columns.push_back(column);
    known.emplace_back(plan.columns()[column].values.size(), unseen);
    add_axis(name);
  }
  const PresetFields fields(presets);
  std::set<std::string> derived;
  for (const std::size_t column : columns) {
    const auto& [name, values] = plan.columns()[column];
    for (const Value& value : values) {
      for (const auto& [field, of_field] : fields.of(name, value)) derived.insert(field);
    }
  }
  add_derived_axes(derived);
  std::vector<std::uint32_t> codes(axes_.size(), 0);
  codes[part_axis] = intern(part_axis, Value(std::string()));
  records_.reserve(plan.size() * passes.size());
  codes_.reserve(plan.size() * passes.size() * axes_.size());
  for (std::size_t index = 0; index < plan.size(); ++index) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t axis = std::size(series_axes) + i;
      std::uint32_t& code = known[i][plan.place_of(index, columns[i])];
      if (code == unseen) code = intern(axis, plan.at(index, columns[i]));
      codes[axis] = code;
    }
    std::fill(codes.begin() + static_cast<std::ptrdiff_t>(first_derived_), codes.end(), 0);
    for (const std::size_t column : columns) {
      const auto& [name, values] = plan.columns()[column];
      set_derived(fields.of(name, plan.at(index, column)), codes);
    }
    for (const std::string& pass : passes) {
      codes[pass_axis] = intern(pass_axis, Value(pass));
      records_.push_back({nullptr, nullptr, static_cast<std::uint32_t>(index), {}});
      codes_.insert(codes_.end(), codes.begin(), codes.end());
    }
  }
}

void Records::add_axis(const std::string& name) {
  axes_.push_back({name, {Value{}}, {{Value{}, 0}}});
}

void Records::collect_axes(const std::vector<Source>& sources) {
  std::set<std::string> names;
  for (const store::Run* run : sources_) {
    const LeftOutOfSessions left_out(run->info);
    for (const store::CaseResult& result : run->cases) {
      auto at = names.begin();  // most cases have the same names, and both are sorted
      for (const auto& [name, value] : result.parameters) at = std::next(names.insert(at, name));
      for (const auto& [name, value] : left_out.of(result)) names.insert(name);
    }
  }
  for (const std::string_view name : series_axes) {
    names.erase(std::string(name));
    add_axis(std::string(name));
  }
  for (const Source& source : sources) {
    if (!source.written) continue;
    for (const std::string& name : source.written->axes) {
      if (names.erase(name) > 0) add_axis(name);
    }
  }
  for (const std::string& name : names) add_axis(name);
  std::set<std::string> derived;
  for (const store::Run* run : sources_) {
    const FieldsOfSessions fields(run->info);
    for (const store::CaseResult& result : run->cases) {
      for (const auto& [name, value] : fields.of(result)) derived.insert(name);
      for (const auto& [name, value] : counts_of(result)) derived.insert(name);
    }
  }
  add_derived_axes(derived);
}

void Records::add_derived_axes(const std::set<std::string>& names) {
  first_derived_ = axes_.size();
  for (const std::string& name : names) {
    if (!axis(name)) add_axis(name);
  }
}

void Records::set_derived(const std::map<std::string, Value>& values,
                          std::vector<std::uint32_t>& codes) {
  for (const auto& [name, value] : values) {
    const auto at = axis(name);
    if (at && *at >= first_derived_) codes[*at] = intern(*at, value);
  }
}

std::map<std::string, std::size_t> Records::axes_of_parameters() const {
  std::map<std::string, std::size_t> axes;
  for (std::size_t axis = std::size(series_axes); axis < first_derived_; ++axis) {
    axes.emplace(axes_[axis].name, axis);
  }
  return axes;
}

void Records::set_parameters(const store::Parameters& parameters,
                             const std::map<std::string, std::size_t>& axes,
                             std::vector<std::uint32_t>& codes) {
  auto axis = axes.begin();  // both are sorted by name
  for (const auto& [name, value] : parameters) {
    while (axis != axes.end() && axis->first < name) ++axis;
    if (axis == axes.end()) return;
    if (axis->first == name) codes[axis->second] = intern(axis->second, value);
  }
}

std::uint32_t Records::intern(std::size_t axis, const Value& value) {
  Axis& target = axes_[axis];
  const auto [at, added] =
      target.codes.try_emplace(value, static_cast<std::uint32_t>(target.values.size()));
  if (added) target.values.push_back(value);
  return at->second;
}

void Records::add_source(std::size_t number) {
  const store::Run& run = *sources_[number];
  std::vector<std::string> passes;
  for (const store::CaseResult& result : run.cases) {
    for (const store::Series& series : result.series) {
      if (std::find(passes.begin(), passes.end(), series.pass) == passes.end()) {
        passes.push_back(series.pass);
      }
    }
  }
  if (passes.empty()) passes.emplace_back();
  const FieldsOfSessions fields(run.info);
  const LeftOutOfSessions left_out(run.info);
  const std::map<std::string, std::size_t> by_name = axes_of_parameters();

  std::uint32_t case_number = records_.empty() ? 0 : records_.back().case_number + 1;
  for (const store::CaseResult& result : run.cases) {
    std::vector<std::uint32_t> codes(axes_.size(), 0);
    codes[source_axis] = intern(source_axis, Value(static_cast<std::int64_t>(number)));
    codes[run_axis] = intern(run_axis, Value(run.info.name));
    set_parameters(result.parameters, by_name, codes);
    for (const auto& [name, value] : left_out.of(result)) {
      const auto axis = by_name.find(name);
      if (axis == by_name.end() || result.parameters.contains(name)) continue;
      codes[axis->second] = intern(axis->second, value);
    }
    set_derived(fields.of(result), codes);
    set_derived(counts_of(result), codes);
    for (const store::Series* series : by_rank(result.series)) {
      auto stand_in = store::stand_in_for(result, *series);
      if (!stand_in) {
        add_series(*series, result, codes, case_number);
        continue;
      }
      stand_ins_.push_back(std::move(*stand_in));
      add_series(stand_ins_.back(), result, codes, case_number);
      records_.back().discarded = store::discarded_for(result, *series)->mark;
    }
    for (store::Series& error : errors_of_looks(result)) {
      stand_ins_.push_back(std::move(error));
      add_series(stand_ins_.back(), result, codes, case_number);
    }
    for (const store::Artefact& artefact : result.artefacts) {
      const auto of_pass = [&](const store::Series& series) {
        return series.pass == artefact.pass;
      };
      if (std::ranges::any_of(result.series, of_pass)) continue;
      store::Series stand_in;  // so that the file can be selected
      stand_in.pass = artefact.pass;
      stand_in.rank = artefact.rank;
      stand_ins_.push_back(std::move(stand_in));
      add_series(stand_ins_.back(), result, codes, case_number);
    }
    if (result.series.empty() && result.outcome != Outcome::ok) {
      for (const std::string& pass : passes) {
        store::Series stand_in;
        stand_in.pass = pass;
        stand_in.outcome = result.outcome;
        stand_in.reason = result.reason;
        stand_ins_.push_back(std::move(stand_in));
        add_series(stand_ins_.back(), result, codes, case_number);
      }
    }
    ++case_number;
  }
}

std::vector<AllReduces> Records::all_reduces_for(std::size_t source) const {
  if (source >= sources_.size()) return {};
  const auto host_of = [](const store::Run& run) {
    const nlohmann::json& machine = run.info.first.machine;
    return machine.is_object() ? machine.value("host", std::string()) : std::string();
  };
  std::vector<AllReduces> known = all_reduces_of(*sources_[source]);
  if (source < ceilings_.size()) {
    std::ranges::copy(ceilings_[source].all_reduces(), std::back_inserter(known));
  }
  for (const store::Run* other : sources_) {
    if (other == sources_[source] || host_of(*other) != host_of(*sources_[source])) continue;
    std::ranges::move(all_reduces_of(*other), std::back_inserter(known));
  }
  std::ranges::stable_partition(
      known, [](const AllReduces& one) { return call_cost_of(one).has_value(); });
  return known;
}

std::map<const store::CaseResult*, std::size_t> Records::first_records() const {
  std::map<const store::CaseResult*, std::size_t> first;
  for (std::size_t i = 0; i < records_.size(); ++i) first.try_emplace(records_[i].result, i);
  return first;
}

void Records::add_bucket_models() {
  if (!axis("communication.bucket_size")) return;
  std::map<const store::CaseResult*, std::size_t> first;
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    for (BucketModel& model : bucket_models(*sources_[source], all_reduces_for(source))) {
      if (!modelled_.insert(model.fastest).second) continue;
      if (first.empty()) first = first_records();
      const std::size_t record = first.at(model.fastest);
      const auto codes = codes_.begin() + static_cast<std::ptrdiff_t>(record * axes_.size());
      const std::vector<std::uint32_t> of_case(codes,
                                               codes + static_cast<std::ptrdiff_t>(axes_.size()));
      for (store::Series& series : model.series) {
        stand_ins_.push_back(std::move(series));
        add_series(stand_ins_.back(), *model.fastest, of_case, records_[record].case_number);
      }
    }
  }
}

void Records::add_series(const store::Series& series, const store::CaseResult& result,
                         const std::vector<std::uint32_t>& case_codes, std::uint32_t case_number) {
  records_.push_back({&series, &result, case_number, {}});
  const std::size_t first = codes_.size();
  codes_.insert(codes_.end(), case_codes.begin(), case_codes.end());
  codes_[first + pass_axis] = intern(pass_axis, Value(series.pass));
  codes_[first + part_axis] = intern(part_axis, Value(series.part));
  codes_[first + rank_axis] = intern(rank_axis, Value(static_cast<std::int64_t>(series.rank)));
  if (series.metric.empty()) return;
  if (!series.words.empty()) text_metrics_.insert(series.metric);
  if (!series.lane.empty()) lanes_.insert(series.lane);
  const auto known = std::find_if(metrics_.begin(), metrics_.end(), [&](const auto& metric) {
    return metric.first == series.metric;
  });
  if (known == metrics_.end()) {
    metrics_.emplace_back(series.metric, series.unit);
  } else if (known->second.empty()) {
    known->second = series.unit;
  }
}

std::optional<std::size_t> Records::axis(std::string_view name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return i;
  }
  return std::nullopt;
}

std::size_t Records::source_of(std::size_t record) const {
  const auto* source = std::get_if<std::int64_t>(&value(record, source_axis));
  return source == nullptr ? sources_.size() : static_cast<std::size_t>(*source);
}

const Ceilings* Records::ceilings(std::size_t record) const {
  const std::size_t number = source_of(record);
  return number < ceilings_.size() && !ceilings_[number].empty() ? &ceilings_[number] : nullptr;
}

std::vector<std::string> Records::passes() const {
  std::vector<std::string> names;
  for (const Value& value : axes_[pass_axis].values) {
    if (!to_text(value).empty()) names.push_back(to_text(value));
  }
  return names;
}

bool Records::varies(std::size_t axis) const {
  return axis < first_derived_ && axes_[axis].values.size() > 2;
}

}  // namespace assay::report
