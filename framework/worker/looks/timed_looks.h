#pragma once

// worker/looks renews the inputs of timed calls and looks at their outputs. It depends on
// worker/compose. Start here.

#include <assay/workload.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "store/records/case_facts.h"
#include "worker/looks/input_renewal.h"

namespace assay::worker {

// Looks at the outputs of timed calls: which ones a secret number decides, so that no call can know
// whether it is one of them.
class TimedLooks {
 public:
  struct Plan {
    std::string pass;
    Integrity integrity = Integrity::fast;
    std::uint64_t secret = 0;    // the same on all ranks
    int readings = 0;            // at least so many are taken
    bool between = true;         // false: only the last reading may be looked at
    bool last_is_known = false;  // it is the last of `readings`
    at::Device device = at::kCPU;
    bool loss_scaling = false;
    // The largest of all ranks' values; empty where there is one.
    std::function<double(double)> worst_of_ranks;
    // Returns to the device's driver what the allocator holds and nobody uses; may be empty.
    std::function<void()> give_back_memory = {};
  };
  explicit TimedLooks(Plan plan);

  // Whether the reading with this number is to be looked at: three of the planned ones, later one
  // of each doubling of their number, of which those behind the first are left out while looks have
  // taken half a second and a tenth of the time; and with `full` one in ten while all looks but
  // three take less than a tenth of the time. All ranks ask together.
  bool wants(std::size_t reading);

  // Directly behind a call that is to be looked at: what it has written by now, which its look
  // holds against what is there later. On a CPU, and of one rank: elsewhere a call's end is the
  // device's, or the collective's.
  void glance(ProgramBoundary& program);

  // Ahead of a call that will be looked at: whether the program could keep what it needs for that.
  // Where a rank lacks the memory none looks. All ranks ask together. Throws what the program
  // throws, but for a lack of memory.
  bool expect(ProgramBoundary& program);

  // Looks at what the last call of the program left. Throws what the program throws, but for a lack
  // of memory, which leaves the comparison out.
  void look(ProgramBoundary& program, const InputRenewal& renewal);

  // ok, or `wrong` with the first finding.
  const Status& status() const { return status_; }
  // Whether a look has compared something.
  bool looked() const { return facts_.looks.value_or(0) > 0; }
  store::TimedLooksFacts facts() const { return facts_; }
  void note(const Status& status);

 private:
  Status still_written(const std::vector<NamedTensor>& outputs);
  Status finite(const std::vector<NamedTensor>& outputs) const;
  Status compared(ProgramBoundary& program, Verification& found);
  void keep_worst(const Verification& found);
  void count(bool compared, const std::string& why_not);
  std::set<std::size_t> drawn_at_first() const;
  bool drawn_later(std::size_t reading) const;
  double worst_of_ranks(double value) const;
  double share_of_time(double looks_s) const;
  bool affordable() const;

  Plan plan_;
  std::set<std::size_t> first_;
  Status status_;
  store::TimedLooksFacts facts_;
  std::optional<std::uint64_t> glanced_;  // of the outputs' bytes
  int taken_ = 0;                         // looks, whether or not they compared anything
  double begin_s_ = 0;
  double beyond_three_s_ = 0;
};

}  // namespace assay::worker
