#include <assay/observer.h>
#include <fmt/format.h>

#include "collect.h"
#include "flame_svg.h"
#include "tables.h"
#include "trace.h"

namespace assay::kernels {

namespace {

// Kernels, operators, classes and ranges of a pass, from LibTorch's profiler.
class Kernels final : public Observer {
 public:
  static std::vector<MetricInfo> metrics() { return profile_metrics(); }

  void observe(const ObservedPass& observed, Recorder& recorder) override {
    const Events events = collect(observed);
    const Profile profile = profile_of(events);
    if (profile.steps.empty()) throw std::runtime_error("the profiler has not seen the step");
    if (observed.device().is_cuda() && !profile.on_device) {
      throw Unsupported("the profiler sees no kernels: CUPTI is missing or in use");
    }
    record(profile, recorder);
    recorder.artefact("trace.json.gz", "application/gzip", trace_of(events).gzip);
    recorder.artefact("stacks.txt", "text/plain", folded(profile.stacks));
    recorder.artefact("flame.svg", "image/svg+xml",
                      flame_svg(profile.stacks, "Kernels of " + observed.pass()));
  }
};

}  // namespace

}  // namespace assay::kernels

ASSAY_PLUGIN(assay::kernels::Kernels, "kernels",
             "LibTorch's profiler: kernels, operators, classes and ranges of a pass.")
