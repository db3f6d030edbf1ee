#pragma once

#include <assay/workload.h>

#include <cstdint>
#include <string>
#include <vector>

#include "measure/content.h"

namespace assay::worker {

enum class Integrity { fast, full };  // measure.integrity

// Gives each call of a pass inputs that no earlier call had, and tells whether a call changed them.
// Inputs of up to 8 KiB, and with `full` all, change as a whole; of larger ones an element in each
// 4 KiB does.
class InputRenewal {
 public:
  // Takes the inputs' fingerprints, so it must be made before anything that a plugin brought has
  // run. secret: not 0. Throws PluginFailure where the program throws.
  InputRenewal(ProgramBoundary& program, std::string pass, std::uint64_t secret,
               Integrity integrity);

  // Of contents that a program renews itself: a number that all ranks share.
  void share(std::uint64_t common) { common_ = common; }

  bool renews() const { return inputs() > 0; }
  bool by_program() const { return by_program_ > 0; }
  std::int64_t inputs() const { return static_cast<std::int64_t>(inputs_.size()) + by_program_; }

  // Until begin(), and from restore() on, calls find the inputs as they were built.
  void begin() { begun_ = true; }
  void restore();

  // Ahead of a call's `before`, and behind it (measure::Call). Outputs of the last call are spoilt,
  // so that memory which a call does not write shows.
  void renew_ahead();
  void renew();

  // ok, or `wrong`: an input is not what the last call was given, or shares memory with an output.
  Status unchanged() const;
  Status apart_from(const std::vector<NamedTensor>& outputs) const;

 private:
  struct Renewed {
    ProgramInput input;
    bool whole = false;
    std::uint64_t fingerprint = 0;
    measure::Contents contents;
  };

  void renew(bool of_before);
  void spoil_outputs();

  ProgramBoundary& program_;
  std::string pass_;
  std::uint64_t secret_;
  std::uint64_t common_;
  int by_program_ = 0;  // inputs that the program renews itself
  bool anew_ = false;
  bool begun_ = false;
  std::uint64_t calls_ = 0;
  std::vector<Renewed> inputs_;
};

}  // namespace assay::worker
