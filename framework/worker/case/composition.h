#pragma once

#include <assay/compile.h>
#include <assay/workload.h>

#include <map>
#include <memory>
#include <string>

#include "wire/messages.h"
#include "worker/process/plugin_loader.h"

namespace assay::worker {

// The plugins of one case, put together: the workload gives a program, the others shape it.
struct Composition {
  std::unique_ptr<AttentionBoundary> attention;
  std::unique_ptr<NormBoundary> norm;
  std::unique_ptr<PrecisionBoundary> precision;
  std::unique_ptr<CommunicationBoundary> communication;
  std::unique_ptr<CompileBoundary> compile;
  std::unique_ptr<WorkloadBoundary> workload;
  std::map<std::string, std::string> units;  // of the metrics that the workload declares
  CaseContext context;

  // Of a count; one that is not declared is a plain one.
  std::string unit_of(const std::string& metric) const {
    const auto declared = units.find(metric);
    return declared == units.end() ? "count" : declared->second;
  }
};

// Another communication variant of the case, nullptr where it has none: one serves one model.
// Throws PluginFailure.
std::unique_ptr<CommunicationBoundary> make_communication(PluginLoader& loader,
                                                          const store::Parameters& parameters);

// Makes every plugin the request names, sets the numeric modes of the precision, and lets the
// compile variant choose operations. Throws PluginFailure.
std::unique_ptr<Composition> compose(PluginLoader& loader, const wire::CaseRequest& request,
                                     const at::Device& device, const Group& group);

}  // namespace assay::worker
