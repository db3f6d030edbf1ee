#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "run/external_case.h"

namespace assay::run {

// What an external program prints on its standard output, held against the protocol
// (docs/external.md) and the case. The first thing that is wrong is the reason of the case.
class ExternalAnswers {
 public:
  ExternalAnswers(const ResolvedCase& resolved, const std::filesystem::path& folder,
                  bool takes_turns)
      : case_(resolved), folder_(folder), takes_turns_(takes_turns) {}

  // The next bytes of its output; `doing` is told of each pass that is reported.
  void take(std::string_view output, const std::function<void(const std::string&)>& doing);
  // Whether it prints without end, or what no program of the protocol prints: it is to be stopped.
  bool hopeless();

  // The turn that it waits for; nothing once it has been given.
  const std::optional<wire::TurnWanted>& wanted() const { return wanted_; }
  void given(const wire::Turn& turn);
  void waits_no_longer() { wanted_.reset(); }

  void end_with(Outcome outcome, std::string reason);
  void refuse(std::string reason);
  void break_off(std::string reason);
  void interrupted() { left_.end.interrupted = true; }

  // Once the program has ended, with what it printed on standard error.
  ExternalEnd conclude(std::string_view errors);

 private:
  void take_line(std::string_view line, const std::function<void(const std::string&)>& doing);
  void take_turn_wanted(nlohmann::json json);
  void take_series(const nlohmann::json& json,
                   const std::function<void(const std::string&)>& doing);
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
  bool breaks_the_rules_ = false;
  std::optional<wire::TurnWanted> wanted_;
  std::ptrdiff_t pass_ = 0;                      // place in the case of the last turn's pass
  std::map<std::string, std::int64_t> granted_;  // samples, by pass
  ExternalEnd left_;
};

}  // namespace assay::run
