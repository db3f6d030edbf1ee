#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/cases/resolve.h"
#include "run/workers/worker_group.h"
#include "store/records/intake.h"

namespace assay::run {

struct ExternalEnd {
  CaseEnd end;
  std::vector<wire::ExchangeFile> exchanged;      // files it reports, by pass
  std::map<std::string, std::string> unverified;  // passes it exchanges nothing of, and why
  // The reason for all other passes without an exchange.
  std::string without_exchange = "the program exchanges no tensors";
};

// Checks the standard output of an external program against the protocol (docs/external.md) and the
// case. The first mistake is the reason of the case unless the program was cut short.
class ExternalAnswers {
 public:
  ExternalAnswers(const ResolvedCase& resolved, const std::filesystem::path& folder,
                  bool takes_turns)
      : case_(resolved), folder_(folder), takes_turns_(takes_turns) {}

  // output: the next bytes; listener: told of each pass that is reported.
  void take(std::string_view output, const ActivityListener& listener);
  // Whether it prints without end or asks for a turn in vain.
  bool must_be_stopped() const { return cut_short_; }

  // The turn that it waits for; empty once given.
  const std::optional<wire::TurnWanted>& wanted() const { return wanted_; }
  void given(const wire::Turn& turn);
  // Revokes the last turn: the program has not read it.
  void take_back_last_turn() { granted_[last_given_.first] -= last_given_.second; }
  void drop_wanted() { wanted_.reset(); }

  // The program did not end by itself: overrides every other reason.
  void cut_short(Outcome outcome, std::string reason);
  // Records a mistake of the program; the first one counts.
  void refuse(std::string reason);
  // Also stops the program.
  void break_off(std::string reason);
  void interrupted() { result_.end.interrupted = true; }

  // Call once the program has ended. errors: its standard error.
  ExternalEnd conclude(std::string_view errors);

 private:
  void take_line(std::string_view line, const ActivityListener& listener);
  void take_turn_wanted(nlohmann::json json);
  void take_series(const nlohmann::json& json, const ActivityListener& listener);
  void take_check(const nlohmann::json& json);
  void take_looks(const nlohmann::json& json);
  void require_every_pass();
  void require_granted_samples();
  void add_sampling_facts();

  const ResolvedCase& case_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  std::string output_;  // the beginning of a line
  std::size_t searched_bytes_ = 0;
  std::size_t printed_bytes_ = 0;
  std::size_t bad_lines_ = 0;
  bool cut_short_ = false;
  std::optional<wire::TurnWanted> wanted_;
  std::ptrdiff_t pass_ = 0;                      // index of the last turn's pass
  std::map<std::string, std::int64_t> granted_;  // samples, by pass
  std::pair<std::string, std::int64_t> last_given_;
  store::SeriesIntake intake_;
  // Places in the series by pass, metric, part and lane.
  std::map<std::array<std::string, 4>, std::size_t> places_;
  ExternalEnd result_;
};

}  // namespace assay::run
