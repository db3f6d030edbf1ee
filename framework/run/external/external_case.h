#pragma once

// run/external runs cases whose variant is a program of its own, and checks what it exchanges. It
// depends on run/workers and run/cases. Start here.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/external/external_answers.h"
#include "run/workers/host_memory.h"
#include "run/workers/process.h"

namespace assay::run {

// A case whose variant lives in another program: the case as JSON on its standard input, JSON lines
// on its standard output (docs/external.md). No shell is involved. `python3` in a descriptor's
// command stands for $ASSAY_PYTHON where that is set, and Python finds the modules in `modules`.
// Tensors are exchanged through files in `folder`; an empty path: none are.
//
// What the program prints counts until it ends, whether it closes its output before or not; the
// case's time limit and the user's interrupts hold for as long. A series that is not one of the
// case, or that is reported twice, makes the case an error.
//
// begin(), then work() and, for each turn wanted, give() and work(), until nothing is wanted; then
// end(). A program asks for turns only where it is told that it takes them. Only the time within
// work() counts towards the limit. What is passed by reference outlives it.
class ExternalProgram {
 public:
  ExternalProgram(const ResolvedCase& resolved, const std::filesystem::path& modules,
                  const std::filesystem::path& folder, bool takes_turns);

  void begin();
  // Until it waits for its turn, or the case has ended. `doing` is told what it does.
  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const Doing& doing);
  void give(const wire::Turn& turn);
  ExternalEnd end() { return answers_.conclude(errors_); }

 private:
  std::vector<std::string> words() const;
  void send_case();
  void send(const nlohmann::json& message);
  bool leaves_unread();
  void follow(Interrupt& interrupt, const Doing& doing);
  bool must_stop(const Interrupt& interrupt, std::chrono::steady_clock::time_point limit);
  void tell_of_crash(const ProcessEnd& how);
  bool fills_the_memory();
  void wait_for_output(const Interrupt& interrupt, const Doing& doing);
  bool read_output(const Doing& doing);

  const ResolvedCase& case_;
  const std::filesystem::path& modules_;
  const std::filesystem::path& folder_;
  const bool takes_turns_;
  ExternalAnswers answers_;
  Process process_;
  double worked_s_ = 0;
  std::string errors_;
  // A limit that cannot be read has been refused as the plugins were listed.
  MemoryGuard memory_guard_ = MemoryGuard::from_environment().value_or(MemoryGuard(std::nullopt));
  OutOfMemoryKills kills_;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace assay::run
