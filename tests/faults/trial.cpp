#include "trial.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "store/database/database.h"

namespace assay::faults {

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string running_test() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return fmt::format("{}.{}", info->test_suite_name(), info->name());
}

// "seq_len=3 attention=naive": the words of a progress line that name parameters.
bool is_described(const store::CaseResult& result, const std::string& description) {
  for (const std::string& word : split(description, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    if (store::text_of(result.parameters, word.substr(0, equals)) != word.substr(equals + 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Trial::Trial(std::string group) : group_(std::move(group)) {
  // All trials share one cached catalogue.
  environment["ASSAY_CACHE"] = ASSAY_BUILD_DIR "/tests/faults/cache";
  environment["OMP_NUM_THREADS"] = "1";
}

Host::Command Trial::command(const std::vector<std::string>& arguments) const {
  return {folder_.path(), arguments, environment, {}};
}

End Trial::run(const std::vector<std::string>& arguments, double limit_s) const {
  Host host(command(arguments));
  End end = host.wait(limit_s);
  EXPECT_EQ(host.left_behind(), "") << "something is left behind";
  saw(end);
  return end;
}

store::Run Trial::stored(const std::string& name) const {
  if (!std::filesystem::exists(database())) return {};
  auto opened = store::Database::open(database(), store::Access::read_only);
  if (!opened) return {};
  const auto latest = opened->latest_run();
  if (name.empty() && (!latest || !*latest)) return {};
  auto run = opened->load_run(name.empty() ? **latest : name);
  EXPECT_TRUE(run) << run.error().text();
  return run ? std::move(*run) : store::Run{};
}

std::vector<std::string> Trial::run_names() const {
  std::vector<std::string> names;
  auto opened = store::Database::open(database(), store::Access::read_only);
  if (!opened) return names;
  const auto runs = opened->runs();
  EXPECT_TRUE(runs);
  if (!runs) return names;
  for (const auto& summary : *runs) names.push_back(summary.info.name);
  return names;
}

void Trial::expect_sound() const {
  if (!std::filesystem::exists(database())) return;
  SQLite::Database file(database().string(), SQLite::OPEN_READWRITE, 10'000);
  EXPECT_EQ(file.execAndGet("PRAGMA integrity_check").getString(), "ok");
  SQLite::Statement references(file, "PRAGMA foreign_key_check");
  EXPECT_FALSE(references.executeStep());
  if (!file.tableExists("cases")) return;
  SQLite::Statement twice(file,
                          "SELECT key_text, count(*) FROM cases GROUP BY run_id, key, build "
                          "HAVING count(*) > 1");
  EXPECT_FALSE(twice.executeStep()) << twice.getColumn(0).getString() << " is there twice";
}

std::string Trial::without_places(std::string text) const {
  text = replaced(std::move(text), folder_.path().string() + "/", "");
  text = replaced(std::move(text), folder_.path().string(), ".");
  text = replaced(std::move(text), ASSAY_BUILD_DIR "/tests/fixtures/", "");
  text = replaced(std::move(text), ASSAY_BUILD_DIR "/", "");
  return replaced(std::move(text), ASSAY_SOURCE_DIR "/", "");  // which a kernel's assertion names
}

void Trial::saw(const End& end) const {
  static const std::regex line_of_a_run(R"((?:^|\n)run (\S+): \d+ cases?[,\n])");
  const auto finished = reported(end.errors);
  if (finished.empty()) return;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(end.errors, found, line_of_a_run)) << end.errors;
  for (const auto& [description, outcome] : finished) reported_[found[1]][description] = outcome;
}

std::string Trial::lost() const {
  std::vector<std::string> lost;
  for (const auto& [name, finished] : reported_) {
    auto left = stored(name).cases;
    std::vector<std::pair<std::string, std::string>> descriptions(finished.begin(), finished.end());
    // A longer description can mean fewer cases.
    std::stable_sort(descriptions.begin(), descriptions.end(), [](const auto& a, const auto& b) {
      return std::count(a.first.begin(), a.first.end(), ' ') >
             std::count(b.first.begin(), b.first.end(), ' ');
    });
    for (const auto& [description, outcome] : descriptions) {
      const auto found =
          std::find_if(left.begin(), left.end(), [&](const store::CaseResult& result) {
            return to_text(result.outcome) == outcome && is_described(result, description);
          });
      if (found == left.end()) {
        lost.push_back(fmt::format("{} of {}, reported as {}", description, name, outcome));
      } else {
        left.erase(found);
      }
    }
  }
  return lost.empty() ? "nothing" : join(lost, "; ");
}

void Trial::record(const std::string& done, const std::string& outcome, const std::string& reason,
                   const std::string& others, bool may_vary) const {
  if (!destroyed_) expect_sound();
  const std::string lost_now = lost();
  EXPECT_EQ(lost_now, "nothing");
  const Record made{running_test(),         group_, done,    outcome,
                    without_places(reason), others, lost_now};
  if (is_recording()) return write_record(made);
  const auto committed = committed_record(made.test);
  if (!committed || may_vary) return;
  EXPECT_EQ(cause_of(made.outcome), cause_of(committed->outcome)) << "docs/reliability.md";
  EXPECT_EQ(cause_of(made.reason), cause_of(committed->reason)) << "docs/reliability.md";
}

std::map<std::string, std::string> reported(const std::string& errors) {
  static const std::regex line_of_a_case(R"(\d+/\d+ (.*?): ([a-z]+)(?:, [a-z, ]+)? \(.*)");
  std::map<std::string, std::string> cases;
  std::istringstream stream(errors.substr(0, errors.rfind('\n') + 1));  // whole lines only
  for (std::string line; std::getline(stream, line);) {
    std::smatch found;
    if (std::regex_match(line, found, line_of_a_case)) cases[found[1]] = found[2];
  }
  return cases;
}

std::set<std::string> series_of(const store::Run& run) {
  std::set<std::string> all;
  for (const auto& result : run.cases) {
    for (const auto& series : result.series) {
      all.insert(fmt::format("{} | {} {} {} {} {} {}", result.key_text, series.pass, series.metric,
                             series.part, series.rank, to_text(series.outcome),
                             series.samples.size()));
    }
  }
  return all;
}

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace assay::faults
