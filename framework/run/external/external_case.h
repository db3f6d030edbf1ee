#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

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
  ~ExternalProgram();

  void begin();
  // Until it waits for its turn, or the case has ended. `doing` is told what it does.
  std::optional<wire::TurnWanted> work(Interrupt& interrupt, const Doing& doing);
  void give(const wire::Turn& turn);
  ExternalEnd end();

 private:
  class Talk;
  std::unique_ptr<Talk> talk_;
};

// Runs such a case to its end, by itself.
ExternalEnd run_external_case(const ResolvedCase& resolved, const std::filesystem::path& modules,
                              const std::filesystem::path& folder, Interrupt& interrupt,
                              const Doing& doing);

}  // namespace assay::run
