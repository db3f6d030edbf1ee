#pragma once

// worker/compose makes the plugins of a case and what they have to work with. It depends on
// worker/process and reference. Start here.

#include <assay/compile.h>
#include <assay/observer.h>
#include <assay/workload.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "measure/tracer.h"
#include "wire/messages.h"
#include "worker/process/plugin_loader.h"

namespace assay::worker {

// The composed plugins of one case: the workload gives a program, the others shape it.
struct Composition {
  // Where measure.phases asks for it; outlives the plugins, which hold handles to it.
  std::unique_ptr<measure::Tracer> tracer;
  std::unique_ptr<AttentionBoundary> attention;
  std::unique_ptr<NormBoundary> norm;
  std::unique_ptr<PrecisionBoundary> precision;
  std::unique_ptr<CommunicationBoundary> communication;
  std::unique_ptr<CompileBoundary> compile;
  std::unique_ptr<WorkloadBoundary> workload;
  std::vector<MetricInfo> metrics;     // that the workload declares
  std::vector<std::string> unclocked;  // its passes without a clock
  CaseContext context;
  bool operations_selected = false;  // by the compile variant

  // The declared unit of a count, "" if none is.
  std::string unit_of(const std::string& metric) const {
    const auto declared = std::ranges::find(metrics, metric, &MetricInfo::name);
    return declared == metrics.end() ? "count" : declared->unit;
  }
};

// A new communication variant of the case, nullptr where it has none; each serves one model. Throws
// PluginFailure.
std::unique_ptr<CommunicationBoundary> make_communication(PluginLoader& loader,
                                                          const store::Parameters& parameters);

// An observer that the request names, and the metrics it declares. Throws PluginFailure.
std::unique_ptr<ObserverBoundary> make_observer(PluginLoader& loader,
                                                const store::Parameters& parameters,
                                                const std::string& name);
std::vector<MetricInfo> observer_metrics(PluginLoader& loader, const std::string& name);

// Makes every plugin that the request names, sets the precision's numeric modes, and lets the
// compile variant select operations. Throws PluginFailure.
std::unique_ptr<Composition> compose(PluginLoader& loader, const wire::CaseRequest& request,
                                     const at::Device& device, const Mesh& mesh);

}  // namespace assay::worker
