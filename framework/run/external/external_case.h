#pragma once

// run/external runs cases whose variant is a program of its own and verifies the tensors it
// exchanges. It depends on run/workers and run/cases. Start here.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/external/external_answers.h"
#include "run/process/host_memory.h"
#include "run/process/process.h"

namespace assay::run {

// The program of an external variant, started without a shell. It reads the case as JSON on its
// standard input and prints JSON lines on its standard output (docs/external.md). `python3` in the
// descriptor's command stands for $ASSAY_PYTHON where that is set; Python finds the modules in
// `modules`. Tensors are exchanged through files in `folder`; with an empty path none are.
//
// Output counts until the program ends, even after it has closed a stream; the case's time limit
// and the user's interrupts hold as long. A series that the case did not ask for, or that comes
// twice, makes the case an error.
//
// Call begin(), then work(); for each turn it returns, give() and work(); then end(). Only the time
// within work() counts towards the limit. Arguments passed by reference outlive the object.
class ExternalProgram {
 public:
  ExternalProgram(const ResolvedCase& resolved, const std::filesystem::path& modules,
                  const std::filesystem::path& folder, bool takes_turns);

  void begin();
  // Returns the turn it wants, or nothing once the case has ended. listener: told of its activity.
  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const ActivityListener& listener);
  void give(const wire::Turn& turn);
  ExternalEnd end() { return answers_.conclude(errors_); }

 private:
  std::vector<std::string> words() const;
  void send_case();
  void send(const nlohmann::json& message);
  bool leaves_unread();
  void follow(Interrupt& interrupt, const ActivityListener& listener);
  bool must_stop(const Interrupt& interrupt, std::chrono::steady_clock::time_point limit);
  void report_crash(const ProcessEnd& how);
  bool fills_the_memory();
  void wait_for_output(const Interrupt& interrupt, const ActivityListener& listener);
  bool read_output(const ActivityListener& listener);

  const ResolvedCase& case_;
  const std::filesystem::path& modules_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  ExternalAnswers answers_;
  Process process_;
  double worked_s_ = 0;
  std::string errors_;
  // Listing the plugins has refused a limit that cannot be read.
  MemoryGuard memory_guard_ = MemoryGuard::from_environment().value_or(MemoryGuard(std::nullopt));
  OutOfMemoryKills kills_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace assay::run
