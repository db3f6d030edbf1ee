#include "worker/looks/end_to_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "measure/device.h"
#include "measure/host_time.h"

namespace assay::worker {

namespace {

// A busy machine disturbs some calls, and all of a short while.
constexpr int at_least = 5;
constexpr int readings = 5;  // one that is disturbed would hide what the first has waited for
constexpr double patience_s = 2;
constexpr double factor = 2;
// Threads wake on a CPU; waiting for a GPU and fetching from it vary.
constexpr double allowance_s = 100e-6;

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

struct Timed {
  double launch_s = 0;
  double call_s = 0;  // with its outputs read, less reading them again
};

Timed time_once(const EndToEnd& what) {
  what.renewal.renew_ahead();
  what.call.before();
  what.renewal.renew();
  measure::synchronize(what.device);
  const double begin_s = measure::host_now_s();
  what.call.run();
  const double launched_s = measure::host_now_s();
  std::vector<NamedTensor> outputs;
  throw_unless_ok(what.program.outputs(what.pass, outputs));
  read(outputs);
  measure::synchronize(what.device);
  const double call_s = measure::host_now_s() - begin_s;
  double reading_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < readings; ++i) {
    const double again_s = measure::host_now_s();
    read(outputs);
    reading_s = std::min(reading_s, measure::host_now_s() - again_s);
  }
  return {launched_s - begin_s, call_s - reading_s};
}

}  // namespace

Status agrees_with(double sample_s, const EndToEnd& what) {
  double least_excess_s = std::numeric_limits<double>::infinity();
  double shortest_s = least_excess_s;
  const double begin_s = measure::host_now_s();
  const auto patient = [&](int tries) {
    return tries < at_least || measure::host_now_s() - begin_s < patience_s;
  };
  what.renewal.begin();
  for (int i = 0; least_excess_s > allowance_s && patient(i); ++i) {
    const Timed timed = time_once(what);
    const double launch_s = what.device.is_cpu() ? 0 : timed.launch_s;
    least_excess_s = std::min(least_excess_s, timed.call_s - factor * (sample_s + launch_s));
    shortest_s = std::min(shortest_s, timed.call_s);
  }
  what.renewal.restore();
  if (least_excess_s <= allowance_s) return {};
  return {Outcome::wrong,
          fmt::format("until its outputs are read it takes {:.3g} us, by its samples {:.3g}",
                      shortest_s * 1e6, sample_s * 1e6)};
}

}  // namespace assay::worker
