#pragma once

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "measure/clock.h"
#include "timing/sampling.h"
#include "worker/looks/input_renewal.h"
#include "worker/looks/timed_looks.h"

namespace assay::worker {

// A program that is called in turn with others, and its inputs.
struct CalledProgram {
  ProgramBoundary* program = nullptr;
  InputRenewal* renewal = nullptr;
};

// Readings that take so long need no untimed one ahead for what others have left in the caches:
// filling a GPU's takes 100 us, a thousandth of them. Infinity where that does not hold: on a CPU,
// and among ranks, which must make the same calls whatever their own times are.
double long_reading_s(const c10::Device& device, int ranks);

// Takes a pass's readings by a clock, and looks at those that TimedLooks asks for before anything
// else is called.
class PassStopwatch final : public timing::Stopwatch {
 public:
  struct Parts {
    measure::Clock& clock;
    measure::Clock& wall;
    const std::vector<CalledProgram>& programs;  // in the clocks' order; each is warmed up
    TimedLooks& looks;
    bool warmed = true;
    double long_reading_s = std::numeric_limits<double>::infinity();
    // Once, behind the warm-up: may add programs to the clock and to `programs`, given the seconds
    // of a warm-up call. May be empty.
    std::function<void(double call_s)> lengthen_rows;
    std::function<void(ProgramBoundary&)> first_look;  // once, after the first warm-up call
    std::function<void()> after_sample;                // may be empty
    std::function<void()> after_look;                  // may be empty
  };
  explicit PassStopwatch(Parts parts) : parts_(std::move(parts)) {}

  double warm_up_s() override;
  // Without a warm-up only a clock that captures may call anything before the first sample.
  void prepare() override;
  double prepared_s() const { return prepared_s_; }
  void announce(int calls) override { announced_ = calls; }
  double sample_s(int calls) override;

  // Looks at the last reading if that is wanted; an untimed reading then brings back what the look
  // has pushed out of the caches, and the memory that went with it. Call ahead of the next reading.
  void look();
  // Once others' readings have changed what the caches hold: an untimed reading, unless the last
  // one was long.
  void bring_back_caches();
  // Whether the next reading is to be looked at, and keeps what a look at it needs. Call directly
  // ahead of it, before ranks meet.
  void expect();
  // At the end: looks at the last reading where it is wanted or nothing else was looked at.
  // Afterwards calls find the inputs as they were built.
  void conclude();

 private:
  void look_at(std::size_t program);

  Parts parts_;
  std::size_t readings_ = 0;
  bool wanted_ = false;        // a look at the last reading, or the next
  int announced_ = 1;          // calls of the next reading
  int calls_ = 1;              // in the last reading
  std::size_t looked_at_ = 0;  // the program whose call the next look is at
  double prepared_s_ = 0;
  double reading_s_ = 0;                                             // the last one's time
  double warm_up_call_s_ = std::numeric_limits<double>::infinity();  // the shortest
};

}  // namespace assay::worker
