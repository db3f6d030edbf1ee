#include "worker/looks/end_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "measure/core_wait.h"
#include "measure/device.h"
#include "measure/host_time.h"

namespace assay::worker {

namespace {

// A busy machine disturbs some calls, and all of a short while.
constexpr int at_least = 5;
constexpr int readings = 5;  // one that is disturbed would hide what the first has waited for
constexpr double patience_s = 2;
constexpr double factor = 2;
// Threads wake on a CPU; waiting for a GPU and fetching from it vary. All calls share it: a moment
// that each of them had would be longer than a short call.
constexpr double allowance_s = 100e-6;
// From a launch until the GPU begins. No more: what the host takes to launch a call is none of the
// call's work on the device, which another stream could do meanwhile.
constexpr double start_on_gpu_s = 10e-6;
// By how much a GPU's host varies from one try to the next: the least of launching and of reading
// need not be of the try that took least as a whole.
constexpr double host_varies = 0.25;
constexpr int most_calls = 32, most_on_gpu = 8;  // fetching takes longer there
// More of a longer call would only wait longer for a try that nothing disturbs.
constexpr double enough_s = 1e-3;

// Elements from all over some outputs: those of a model are many.
void read(const std::vector<NamedTensor>& outputs) {
  constexpr std::size_t tensors = 8;
  constexpr std::int64_t elements = 256;
  const std::size_t step = std::max<std::size_t>(1, outputs.size() / tensors);
  for (std::size_t i = 0; i < outputs.size(); i += step) {
    const at::Tensor& tensor = outputs[i].tensor;
    if (!tensor.defined() || tensor.numel() == 0) continue;
    const auto flat = tensor.detach().reshape({-1});
    static_cast<void>(
        flat.slice(0, 0, flat.size(0), std::max<std::int64_t>(1, flat.size(0) / elements))
            .to(at::kCPU, /*non_blocking=*/false, /*copy=*/true));
  }
}

// Seconds of calls with nothing between: of a row, or of one call.
struct Timed {
  double launch_s = 0;
  double reading_s = 0;  // of reading outputs that have been read before
  double passed_s = 0;   // until the outputs have been read
};

void read_outputs(const EndToEnd& what, std::span<const EndToEnd::Program> row) {
  for (const EndToEnd::Program& one : row) {
    std::vector<NamedTensor> outputs;
    throw_unless_ok(one.program.outputs(what.pass, outputs));
    read(outputs);
  }
}

double reading_s(const EndToEnd& what, std::span<const EndToEnd::Program> row) {
  double shortest_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < readings; ++i) {
    const double begin_s = measure::host_now_s();
    read_outputs(what, row);
    shortest_s = std::min(shortest_s, measure::host_now_s() - begin_s);
  }
  return shortest_s;
}

void call(const EndToEnd::Program& one, int in_a_row) {
  in_a_row > 0 ? one.call.in_a_row(in_a_row) : one.call.run();
}

// One call of each, or the calls that one makes in a row, with nothing between. Of long calls what
// they waited for a core is taken out: some short ones have waited for none, and reading the wait
// takes as long as they do.
Timed time_once(const EndToEnd& what, std::span<const EndToEnd::Program> row, bool long_calls) {
  for (const EndToEnd::Program& one : row) {
    one.renewal.renew_ahead();
    one.call.before();
    one.renewal.renew();
  }
  measure::synchronize(what.device);
  if (what.meet) what.meet();
  Timed timed;
  const double waited_s = long_calls ? measure::waited_for_a_core_s() : 0;
  const double begin_s = measure::host_now_s();
  for (const EndToEnd::Program& one : row) call(one, what.in_a_row);
  timed.launch_s = measure::host_now_s() - begin_s;
  // Reading waits for the current stream alone: work on another would pass behind it.
  measure::synchronize(what.device);
  read_outputs(what, row);
  measure::synchronize(what.device);
  timed.passed_s = measure::host_now_s() - begin_s;
  if (long_calls) {
    timed.passed_s =
        measure::on_a_core_s(timed.passed_s, measure::waited_for_a_core_s() - waited_s);
  }
  timed.reading_s = reading_s(what, row);
  return timed;
}

// The least of each part over all calls: a try that something disturbs must not excuse the call.
struct Least {
  double launch_s = std::numeric_limits<double>::infinity();
  double reading_s = launch_s;
  double passed_s = launch_s;

  void take(const Timed& timed) {
    launch_s = std::min(launch_s, timed.launch_s);
    reading_s = std::min(reading_s, timed.reading_s);
    passed_s = std::min(passed_s, timed.passed_s);
  }
};

// Calls of the row have new inputs while this lives.
class Renewing {
 public:
  explicit Renewing(std::span<const EndToEnd::Program> row) : row_(row) {
    for (const EndToEnd::Program& one : row_) one.renewal.begin();
  }
  ~Renewing() {
    for (const EndToEnd::Program& one : row_) {
      static_cast<void>(guarded([&] { one.renewal.restore(); }));
    }
  }
  Renewing(const Renewing&) = delete;
  Renewing& operator=(const Renewing&) = delete;

 private:
  std::span<const EndToEnd::Program> row_;
};

// How often a call that is timed alone is made.
int calls_alone(double sample_s, const at::Device& device) {
  const int most = device.is_cpu() ? most_calls : most_on_gpu;
  return static_cast<int>(std::clamp<double>(enough_s / sample_s, 1, most));
}

}  // namespace

Status agrees_with(double sample_s, const EndToEnd& what) {
  const auto worst = [&](double value) {
    return what.worst_of_ranks ? what.worst_of_ranks(value) : value;
  };
  const std::span<const EndToEnd::Program> all = what.row;
  const auto row = all.first(std::min<std::size_t>(all.size(), most_calls));
  const auto in_a_row = static_cast<double>(
      std::max<std::size_t>(static_cast<std::size_t>(what.in_a_row), row.size()));
  const int times = in_a_row > 1 ? 1 : calls_alone(worst(sample_s), what.device);
  const bool long_calls = worst(in_a_row * sample_s) > enough_s;
  Least least;
  const auto calls_s = [&] { return least.passed_s - least.reading_s; };
  const auto of_the_host_s = [&] {
    if (what.device.is_cpu()) return 0.0;
    return least.launch_s + in_a_row * start_on_gpu_s +
           host_varies * (least.launch_s + least.reading_s);
  };
  const Renewing renewing(row);
  bool agrees = false;
  const double begin_s = measure::host_now_s();
  for (int tries = 1; !agrees; ++tries) {
    for (int i = 0; i < times; ++i) least.take(time_once(what, row, long_calls));
    const double excess_s = calls_s() - factor * in_a_row * sample_s - of_the_host_s();
    agrees = worst(times * excess_s) <= allowance_s;
    if (tries >= at_least && worst(measure::host_now_s() - begin_s) >= patience_s) break;
  }
  if (agrees) return {};
  const auto us = [&](double of_all_s) { return of_all_s / in_a_row * 1e6; };
  const std::string launching =
      what.device.is_cpu() ? "" : fmt::format("{:.3g} to launch, ", us(least.launch_s));
  return {Outcome::wrong, fmt::format("until its outputs are read it takes {:.3g} us, {}by its "
                                      "samples {:.3g}",
                                      us(calls_s()), launching, sample_s * 1e6)};
}

}  // namespace assay::worker
