#pragma once

#include <assay/compile.h>
#include <assay/workload.h>

#include <map>
#include <memory>
#include <string>

#include "wire/messages.h"
#include "worker/process/plugin_loader.h"

namespace assay::worker {

// The composed plugins of one case: the workload gives a program, the others shape it.
struct Composition {
  std::unique_ptr<AttentionBoundary> attention;
  std::unique_ptr<NormBoundary> norm;
  std::unique_ptr<PrecisionBoundary> precision;
  std::unique_ptr<CommunicationBoundary> communication;
  std::unique_ptr<CompileBoundary> compile;
  std::unique_ptr<WorkloadBoundary> workload;
  std::map<std::string, std::string> units;  // of the metrics that the workload declares
  CaseContext context;

  // The declared unit of a count, "" if none is.
  std::string unit_of(const std::string& metric) const {
    const auto declared = units.find(metric);
    return declared == units.end() ? "count" : declared->second;
  }
};

// A new communication variant of the case, nullptr where it has none; each serves one model. Throws
// PluginFailure.
std::unique_ptr<CommunicationBoundary> make_communication(PluginLoader& loader,
                                                          const store::Parameters& parameters);

// Makes every plugin that the request names, sets the precision's numeric modes, and lets the
// compile variant select operations. Throws PluginFailure.
std::unique_ptr<Composition> compose(PluginLoader& loader, const wire::CaseRequest& request,
                                     const at::Device& device, const Group& group);

}  // namespace assay::worker
