// Every cheat of the table, and its honest twin, in a run of assay. ASSAY_CHEAT_RECORDS names a
// file for what is said: the page (docs/trust.md) is made of it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string>

#include "records.h"
#include "table.h"
#include "trial.h"

namespace assay::cheats {
namespace {

bool has_gpu() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidia0", ignored) ||
         std::filesystem::exists("/dev/nvidiactl", ignored);
}

std::vector<std::string> experiments_on(const std::string& device) {
  std::vector<std::string> names;
  for (const auto& [name, experiment] : read_table().experiments) {
    if (experiment.device == device) names.push_back(name);
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

// On a busy machine what a cheat puts off may end before anybody looks, or make it honest: it then
// takes about as long as its twin.
bool has_gained(const Verdict& verdict) {
  const bool plain = verdict.says == nothing || verdict.says == kept;
  return !plain || least_gain * verdict.shown_s < verdict.honest_s;
}

// Who changes the judge's process wants no small time of his own.
bool is_tampering(const Table& table, const Cheat& cheat) {
  return std::ranges::count(table.tampering, cheat.family) > 0;
}

// What is said of a cheat against the table, "" where it is what the table says.
std::string objection(const Verdict& verdict, const Cheat& cheat, bool wants_time) {
  const std::string& expected = cheat.says.at(verdict.level);
  if (verdict.says == expected || expected == unrecorded) return {};
  // Which of several checks is the first to see it may differ.
  const auto refused = [](const std::string& says) {
    return says == "wrong" || says == "unsupported";
  };
  if (refused(verdict.says) && refused(expected)) return {};
  // What ends in an error of its own may be found wrong before it does.
  if (expected == "error" && refused(verdict.says)) return {};
  // Who is honest as long as he believes himself watched may miss it.
  if (wants_time && expected == kept && refused(verdict.says)) return {};
  if (wants_time && !has_gained(verdict)) return {};
  return fmt::format("{} at {} is said to be '{}', not '{}': {}\nshown {} s, its twin takes {} s",
                     cheat.name, verdict.level, verdict.says, expected, verdict.reason,
                     verdict.shown_s, verdict.honest_s);
}

std::map<std::string, std::string> objections(const Table& table, const Trial& trial) {
  std::map<std::string, std::string> found;  // by cheat
  for (const Verdict& verdict : trial.verdicts) {
    for (const Cheat& cheat : table.cheats) {
      if (cheat.name != verdict.cheat) continue;
      std::string text = objection(verdict, cheat, !is_tampering(table, cheat));
      if (!text.empty()) found[cheat.name] = std::move(text);
    }
  }
  return found;
}

Trial tried(const Table& table, const std::string& experiment, const std::string& level) {
  Trial trial = try_cheats(table, experiment, level);
  EXPECT_EQ(trial.problem, "");
  for (const auto& [its_case, said] : trial.accusations) {
    ADD_FAILURE() << "an honest variant at " << level << ", " << its_case << ": " << said;
  }
  return trial;
}

// A cheat is tried again where something else is said than the table has: other programs may have
// slowed it, or the twin that it is held against.
void try_all(const std::string& experiment) {
  constexpr int tries = 3;
  const Table table = read_table();
  for (const auto& [level, settings] : table.levels) {
    const Trial trial = tried(table, experiment, level);
    if (is_recording()) {
      for (const Verdict& verdict : trial.verdicts) write_record(verdict);
      continue;
    }
    std::map<std::string, std::string> left = objections(table, trial);
    for (int i = 1; i < tries && !left.empty(); ++i) {
      const auto again = objections(table, tried(table, experiment, level));
      std::erase_if(left, [&](const auto& one) { return !again.contains(one.first); });
    }
    for (const auto& [cheat, text] : left) ADD_FAILURE() << text;
  }
}

class Cheats : public ::testing::TestWithParam<std::string> {};
TEST_P(Cheats, AreToldFromHonestWork) { try_all(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Suite, Cheats, ::testing::ValuesIn(experiments_on("cpu")), test_name);

class GpuCheats : public ::testing::TestWithParam<std::string> {};
TEST_P(GpuCheats, AreToldFromHonestWork) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  try_all(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Suite, GpuCheats, ::testing::ValuesIn(experiments_on("cuda")), test_name);

}  // namespace
}  // namespace assay::cheats
