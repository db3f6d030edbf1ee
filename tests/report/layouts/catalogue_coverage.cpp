#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "catalogue_page.h"
#include "report/spec/spec.h"
#include "store/records/identity.h"

namespace assay::report::testing_support {
namespace {

// One value of each axis of a need, by its place.
using Combination = std::vector<std::size_t>;

struct Found {
  std::set<std::string> machines;
  bool out_of_memory = true;  // in every run that has it
};

using FoundOfNeed = std::map<Combination, Found>;

std::string kind_of_machine(const nlohmann::json& machine) {
  std::string kind = machine.value("cpu", "");
  if (const auto gpus = machine.find("gpus"); gpus != machine.end() && gpus->is_array()) {
    for (const auto& gpu : *gpus) kind += ", " + gpu.value("name", "");
  }
  return kind;
}

bool names_any(const std::vector<std::string>& words, const Value& value) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == "some" ? !to_text(value).empty() : names_value(word, value);
  });
}

// A result that ran out of memory stands for all it would have given: for what its run has of these
// axes.
bool stands_for_all(const std::string& axis) {
  return axis == "metric" || axis == "part" || axis == "rank";
}

class SearchInRun {
 public:
  explicit SearchInRun(const KeptRun& kept) : kept_(kept), records_(*kept.records) {}

  FoundOfNeed of(const Need& need) const {
    FoundOfNeed found;
    for (std::size_t id = 0; id < records_.size(); ++id) {
      const Outcome outcome = records_[id].series->outcome;
      if (outcome != Outcome::ok && outcome != Outcome::oom) continue;
      const auto places = places_of(id, need);
      if (!places) continue;
      const auto& machine =
          store::session_of(kept_.run->info, records_[id].result->session).machine;
      for (const Combination& combination : product(*places)) {
        Found& here = found[combination];
        here.machines.insert(kind_of_machine(machine));
        here.out_of_memory = here.out_of_memory && outcome == Outcome::oom;
      }
    }
    return found;
  }

 private:
  using Places = std::vector<std::vector<std::size_t>>;  // by axis of the need

  std::optional<Places> places_of(std::size_t id, const Need& need) const {
    const bool failed = records_[id].series->outcome != Outcome::ok;
    Places places;
    for (const NeededAxis& axis : need.axes) {
      std::vector<std::size_t> here;
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        const bool has = failed && stands_for_all(axis.name)
                             ? run_has(axis.name, axis.values[i])
                             : names_any(axis.values[i], value(id, axis.name));
        if (has) here.push_back(i);
      }
      if (here.empty()) return std::nullopt;
      places.push_back(std::move(here));
    }
    return places;
  }

  Value value(std::size_t id, const std::string& name) const {
    if (name == "metric") return records_[id].series->metric;
    const auto axis = records_.axis(name);
    return axis ? records_.value(id, *axis) : Value{};
  }

  bool run_has(const std::string& name, const std::vector<std::string>& words) const {
    for (std::size_t id = 0; id < records_.size(); ++id) {
      const bool ok = records_[id].series->outcome == Outcome::ok;
      if (ok && names_any(words, value(id, name))) return true;
    }
    return false;
  }

  static std::vector<Combination> product(const Places& places) {
    std::vector<Combination> all{{}};
    for (const auto& of_axis : places) {
      std::vector<Combination> longer;
      for (const Combination& start : all) {
        for (const std::size_t place : of_axis) {
          longer.push_back(start);
          longer.back().push_back(place);
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  const KeptRun& kept_;
  const Records& records_;
};

std::set<Combination> all_combinations(const Need& need) {
  std::set<Combination> all{{}};
  for (const NeededAxis& axis : need.axes) {
    std::set<Combination> longer;
    for (Combination start : all) {
      start.push_back(0);
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        start.back() = i;
        longer.insert(start);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string word_of(const NeededAxis& axis, std::size_t place) {
  const std::string values = join(axis.values[place], " or ");
  if (axis.name == "part" && values.empty()) return "the whole pass";
  return axis.name + " " + values;
}

std::string in_words(const Need& need, const Combination& combination) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < need.axes.size(); ++i) {
    if (need.axes[i].values.size() > 1) words.push_back(word_of(need.axes[i], combination[i]));
  }
  return join(words, " × ");
}

// A need of which nothing is found: its metrics and what they are asked for alone.
std::string in_words(const Need& need) {
  std::string metrics;
  std::vector<std::string> asked;
  for (const NeededAxis& axis : need.axes) {
    if (axis.name == "metric") {
      std::vector<std::string> names;
      for (const auto& words : axis.values) names.push_back(join(words, " or "));
      metrics = join(names, ", ");
    } else if (axis.values.size() == 1) {
      asked.push_back(word_of(axis, 0));
    }
  }
  return asked.empty() ? metrics : metrics + " (" + join(asked, ", ") + ")";
}

struct Lacking {
  std::size_t axis = 0, place = 0, missing = 0, all = 0;
};

// How many combinations there are with one value of this axis.
std::size_t combinations_of_value(const Need& need, std::size_t axis) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < need.axes.size(); ++i) {
    if (i != axis) count *= need.axes[i].values.size();
  }
  return count;
}

// Counts the missing combinations of each value.
std::vector<Lacking> lacking_by_value(const Need& need, const std::set<Combination>& missing) {
  std::vector<Lacking> all;
  for (std::size_t axis = 0; axis < need.axes.size(); ++axis) {
    if (need.axes[axis].values.size() == 1) continue;
    for (std::size_t place = 0; place < need.axes[axis].values.size(); ++place) {
      const auto here = std::ranges::count_if(
          missing, [&](const Combination& one) { return one[axis] == place; });
      all.push_back(
          {axis, place, static_cast<std::size_t>(here), combinations_of_value(need, axis)});
    }
  }
  return all;
}

// Values that are missing altogether, then those most concerned, then combinations.
std::vector<std::string> in_words(const Need& need, std::set<Combination> missing) {
  constexpr std::size_t named_one_by_one = 3;
  std::vector<std::string> words;
  const auto leave_out = [&](const Lacking& value) {
    std::erase_if(missing, [&](const Combination& one) { return one[value.axis] == value.place; });
    return word_of(need.axes[value.axis], value.place);
  };
  for (const Lacking& value : lacking_by_value(need, missing)) {
    if (value.missing == value.all) words.push_back(leave_out(value));
  }
  while (missing.size() > named_one_by_one) {
    const auto values = lacking_by_value(need, missing);
    const Lacking most = *std::ranges::max_element(values, {}, &Lacking::missing);
    words.push_back(fmt::format("{} ({} of {})", leave_out(most), most.missing, most.all));
  }
  for (const Combination& one : missing) words.push_back(in_words(need, one));
  return words;
}

class Cover {
 public:
  Cover(const CatalogueRow& row, const std::vector<KeptRun>& kept) : row_(row) {
    for (const KeptRun& one : kept) {
      const SearchInRun search(one);
      std::vector<FoundOfNeed> found;
      for (const Need& need : row.needs) found.push_back(search.of(need));
      of_runs_.emplace_back(&one, std::move(found));
    }
    for (const Need& need : row.needs) open_.push_back(all_combinations(need));
    found_.resize(row.needs.size());
  }

  Coverage find() {
    for (const std::string& experiment : row_.experiments) {
      for (const auto& of_run : of_runs_) {
        const bool is_its = of_run.first->run->info.experiment == experiment;
        if (is_its && news_of(of_run) > 0) take(of_run);
      }
    }
    while (true) {
      const auto best = std::ranges::max_element(
          of_runs_, {}, [&](const OfRun& of_run) { return news_of(of_run); });
      if (best == of_runs_.end() || news_of(*best) == 0) break;
      take(*best);
    }
    for (std::size_t i = 0; i < row_.needs.size(); ++i) {
      const std::size_t needed = all_combinations(row_.needs[i]).size();
      coverage_.needed += needed;
      coverage_.found += needed - open_[i].size();
      for (const auto& [combination, found] : found_[i]) {
        const bool counts = found.out_of_memory && !open_[i].contains(combination);
        coverage_.out_of_memory += counts ? 1 : 0;
      }
      for (const std::string& word : missing_of(i, needed)) {
        if (!std::ranges::count(coverage_.missing, word)) coverage_.missing.push_back(word);
      }
    }
    return coverage_;
  }

 private:
  using OfRun = std::pair<const KeptRun*, std::vector<FoundOfNeed>>;

  // How many open combinations the run adds a machine to.
  std::size_t news_of(const OfRun& of_run) const {
    std::size_t news = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      for (const auto& [combination, found] : of_run.second[i]) {
        if (!open_[i].contains(combination)) continue;
        const auto known = found_[i].find(combination);
        const bool adds = std::ranges::any_of(found.machines, [&](const std::string& machine) {
          return known == found_[i].end() || !known->second.machines.contains(machine);
        });
        news += adds ? 1 : 0;
      }
    }
    return news;
  }

  std::vector<std::string> missing_of(std::size_t i, std::size_t needed) const {
    const Need& need = row_.needs[i];
    if (open_[i].size() < needed || needed == 1) return in_words(need, open_[i]);
    if (need.machines > 1 && !found_[i].empty()) return {"a second machine"};
    return {in_words(need)};
  }

  void take(const OfRun& of_run) {
    coverage_.runs.push_back(of_run.first);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      for (const auto& [combination, found] : of_run.second[i]) {
        Found& known = found_[i][combination];
        known.machines.insert(found.machines.begin(), found.machines.end());
        known.out_of_memory = known.out_of_memory && found.out_of_memory;
        if (known.machines.size() >= row_.needs[i].machines) open_[i].erase(combination);
      }
    }
  }

  const CatalogueRow& row_;
  std::vector<OfRun> of_runs_;
  std::vector<std::set<Combination>> open_;  // by need
  std::vector<FoundOfNeed> found_;           // by need
  Coverage coverage_;
};

}  // namespace

Coverage coverage_of(const CatalogueRow& row, const std::vector<KeptRun>& kept) {
  return Cover(row, kept).find();
}

}  // namespace assay::report::testing_support
