#include "trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../end_to_end/support/program.h"
#include "base/outcome.h"
#include "store/database/database.h"

namespace assay::cheats {

namespace {

using Json = nlohmann::ordered_json;

// Cases of one run, each once, in the order of its plan.
class Cases {
 public:
  void add(const Json& one) {
    if (!one.is_null() && place_of(one) == list_.size()) list_.push_back(one);
  }
  std::size_t place_of(const Json& one) const {
    const auto same = [&](const Json& other) {  // in whatever order
      return nlohmann::json(other) == nlohmann::json(one);
    };
    return static_cast<std::size_t>(
        std::distance(list_.begin(), std::find_if(list_.begin(), list_.end(), same)));
  }
  const std::vector<Json>& list() const { return list_; }

 private:
  std::vector<Json> list_;
};

std::vector<Cheat> cheats_of(const Table& table, const std::string& experiment) {
  std::vector<Cheat> cheats;
  for (const Cheat& cheat : table.cheats) {
    if (cheat.experiment == experiment) cheats.push_back(cheat);
  }
  return cheats;
}

bool wants_a_worker_of_its_own(const Cheat& cheat) {
  return cheat.its_case.contains("measure.isolation");
}

// Controls and twins come first: what a cheat does to its process does not reach them. Last come
// those that need a worker each.
Cases cases_of(const std::vector<Json>& controls, const std::vector<Cheat>& cheats) {
  Cases cases;
  for (const Json& control : controls) cases.add(control);
  for (const Cheat& cheat : cheats) cases.add(cheat.honest);
  const auto add = [&](const Cheat& cheat) {
    if (cheat.victim_comes_first) cases.add(cheat.victim);
    cases.add(cheat.its_case);
    cases.add(cheat.victim);
  };
  for (const Cheat& cheat : cheats) {
    if (!wants_a_worker_of_its_own(cheat)) add(cheat);
  }
  for (const Cheat& cheat : cheats) {
    if (wants_a_worker_of_its_own(cheat)) add(cheat);
  }
  return cases;
}

// What the run has of a case.
struct Found {
  bool there = false;
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::vector<store::Mark> marks;  // that speak of the plugin
  double time_s = 0;
};

double median_of(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

Found found_of(const store::CaseResult& result, const std::vector<std::string>& machine_marks) {
  Found found{true, result.outcome, result.reason, {}, 0};
  for (const store::Mark& mark : result.facts.marks) {
    if (std::ranges::count(machine_marks, mark.mark) == 0) found.marks.push_back(mark);
  }
  const auto time = std::ranges::find_if(result.series, [](const store::Series& series) {
    return series.metric == "time" && series.rank == 0;
  });
  if (time != result.series.end()) found.time_s = median_of(time->samples);
  return found;
}

// By the place in the plan; those that the database lacks stay empty.
std::vector<Found> found_in(const store::Run& run, std::size_t cases,
                            const std::vector<std::string>& machine_marks) {
  std::vector<Found> all(cases);
  for (const store::CaseResult& result : run.cases) {
    const auto place = static_cast<std::size_t>(result.ordinal);
    if (place < cases) all[place] = found_of(result, machine_marks);
  }
  return all;
}

// What is said of a case, "" for a plain number.
std::pair<std::string, std::string> said_of(const Found& found) {
  if (!found.there) return {"missing", ""};
  if (found.outcome != Outcome::ok) return {std::string(to_text(found.outcome)), found.reason};
  if (!found.marks.empty()) return {found.marks.front().mark, found.marks.front().reason};
  return {};
}

bool has_worked(const Cheat& cheat, const Found& own, const Found& honest, const Found& victim) {
  if (cheat.proof == "faster") return own.time_s < honest.time_s / least_gain;
  if (cheat.proof == "slower") return !victim.there || victim.time_s > 5 * honest.time_s;
  return true;
}

Verdict verdict_on(const Cheat& cheat, const std::string& level, const Found& own,
                   const Found& honest, const Found& victim) {
  Verdict verdict{cheat.name, level, nothing, "", own.time_s, honest.time_s};
  if (auto [says, reason] = said_of(own); !says.empty()) {
    verdict.says = std::move(says);
    verdict.reason = std::move(reason);
  } else if (cheat.proof == "slower" && victim.there && !victim.marks.empty()) {
    verdict.says = victim.marks.front().mark;  // the competitor's time is not shown as a plain one
    verdict.reason = victim.marks.front().reason;
  } else if (!has_worked(cheat, own, honest, victim)) {
    verdict.says = kept;
  }
  return verdict;
}

struct Ran {
  std::optional<store::Run> run;
  std::string problem;
};

Ran run(const test::Folder& folder, const Experiment& experiment) {
  std::vector<std::string> words = {"env",
                                    "ASSAY_CACHE=" ASSAY_BUILD_DIR "/tests/cheats/cache",
                                    fmt::format("OMP_NUM_THREADS={}", experiment.threads),
                                    ASSAY_BUILD_DIR "/bin/assay",
                                    "run",
                                    "cheats.yaml"};
  for (const std::string& plugin : experiment.plugins) {
    words.insert(words.end(), {"--plugin", test::fixture(plugin)});
  }
  const test::Ended ended = test::program(folder.path(), words);
  const auto said =
      fmt::format("assay ended with {}:\n{}\n{}", ended.exit_code, ended.output, ended.errors);
  const auto file = folder.path() / "results" / "assay.db";
  if (!std::filesystem::exists(file)) return {{}, said};
  auto database = store::Database::open(file, store::Access::read_only);
  if (!database) return {{}, database.error().text() + "\n" + said};
  const auto latest = database->latest_run();
  if (!latest || !*latest) return {{}, "there is no run; " + said};
  auto loaded = database->load_run(**latest);
  if (!loaded) return {{}, loaded.error().text() + "\n" + said};
  return {std::move(*loaded), said};
}

std::string experiment_text(const Experiment& experiment, const Json& level, const Cases& cases) {
  Json text = {{"experiment", "cheats"}};
  text.update(experiment.text);
  for (const auto& [name, value] : level.items()) text["measure"][name] = value;
  text["include"] = cases.list();
  return text.dump(1);
}

}  // namespace

Trial try_cheats(const Table& table, const std::string& name, const std::string& level) {
  const Experiment& experiment = table.experiments.at(name);
  const std::vector<Cheat> cheats = cheats_of(table, name);
  const Cases cases = cases_of(experiment.controls, cheats);
  const auto settings = std::ranges::find_if(table.levels, [&](const auto& one) {
                          return one.first == level;
                        })->second;
  const test::Folder folder;
  std::filesystem::copy_file(ASSAY_SOURCE_DIR "/tests/cheats/model.yaml",
                             folder.path() / "model.yaml");
  folder.write("cheats.yaml", experiment_text(experiment, settings, cases));
  const Ran ran = run(folder, experiment);
  if (!ran.run) return {{}, {}, ran.problem};
  const auto found = found_in(*ran.run, cases.list().size(), table.machine_marks);

  Trial trial;
  const auto expect_plain = [&](const Json& its_case, const Found& its) {
    auto [said, reason] = said_of(its);
    if (said.empty() && its.time_s > 0) return;
    if (said.empty()) reason = "there are no samples";
    trial.accusations.push_back({its_case.dump(), fmt::format("{}: {}", said, reason)});
  };
  for (const Json& control : experiment.controls) {
    const Found& its = found[cases.place_of(control)];
    if (its.outcome != Outcome::unsupported) expect_plain(control, its);  // on another GPU, say
  }
  for (const Cheat& cheat : cheats) {
    const Found& honest = found[cases.place_of(cheat.honest)];
    const Found victim = cheat.victim.is_null() ? Found{} : found[cases.place_of(cheat.victim)];
    trial.verdicts.push_back(
        verdict_on(cheat, level, found[cases.place_of(cheat.its_case)], honest, victim));
    expect_plain(cheat.honest, honest);
  }
  return trial;
}

}  // namespace assay::cheats
