#pragma once

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

namespace assay::run {

// What an external program left of a case.
struct ExternalEnd {
  CaseEnd end;
  std::vector<wire::ExchangeFile> exchanged;      // files it says it has written, by pass
  std::map<std::string, std::string> unverified;  // passes it exchanges nothing of, and why
  // Why there is nothing of the passes it has not told of.
  std::string without_exchange = "the program exchanges no tensors";
};

// What an external program prints on its standard output, held against the protocol
// (docs/external.md) and the case. Of what is wrong in it the first is the reason of the case,
// unless the program was cut short.
class ExternalAnswers {
 public:
  ExternalAnswers(const ResolvedCase& resolved, const std::filesystem::path& folder,
                  bool takes_turns)
      : case_(resolved), folder_(folder), takes_turns_(takes_turns) {}

  // The next bytes of its output; `doing` is told of each pass that is reported.
  void take(std::string_view output, const Doing& doing);
  // Whether it prints without end, or asks in vain: it is to be stopped.
  bool hopeless() const { return cut_short_; }

  // The turn that it waits for; nothing once it has been given.
  const std::optional<wire::TurnWanted>& wanted() const { return wanted_; }
  void given(const wire::Turn& turn);
  // What the program took it took beside its turns.
  void last_turn_was_not_read() { granted_[last_given_.first] -= last_given_.second; }
  void waits_no_longer() { wanted_.reset(); }

  // It has not come, or does not come, to its end, which is the reason whatever it has printed.
  void cut_short(Outcome outcome, std::string reason);
  // Something that it did is wrong; of several the first counts. break_off: it is to be stopped,
  // too.
  void refuse(std::string reason);
  void break_off(std::string reason);
  void interrupted() { left_.end.interrupted = true; }

  // Once the program has ended, with what it printed on standard error.
  ExternalEnd conclude(std::string_view errors);

 private:
  void take_line(std::string_view line, const Doing& doing);
  void take_turn_wanted(nlohmann::json json);
  void take_series(const nlohmann::json& json, const Doing& doing);
  void take_check(const nlohmann::json& json);
  void look_for_every_pass();
  void look_for_turns();
  void tell_of_sampling();

  const ResolvedCase& case_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  std::string output_;  // not yet taken: the beginning of a line
  std::size_t searched_bytes_ = 0;
  std::size_t printed_bytes_ = 0;
  std::size_t bad_lines_ = 0;
  bool cut_short_ = false;
  std::optional<wire::TurnWanted> wanted_;
  std::ptrdiff_t pass_ = 0;                      // place in the case of the last turn's pass
  std::map<std::string, std::int64_t> granted_;  // samples, by pass
  std::pair<std::string, std::int64_t> last_given_;
  ExternalEnd left_;
};

}  // namespace assay::run
