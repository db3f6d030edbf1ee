#include <ATen/core/Tensor.h>
#include <assay/mesh.h>

#include "training/counted_backend.h"

namespace assay {

Mesh training::counted(const Mesh& mesh, std::shared_ptr<Traffic> traffic, TraceHandle trace,
                       std::shared_ptr<LentWorks> lent) {
  auto made = std::make_shared<std::map<std::string, Group>>();
  const auto make = [mesh, traffic = std::move(traffic), trace, lent = std::move(lent), made](
                        const std::string& name, Group& group) {
    return guarded([&] {
      const auto known = made->find(name);
      if (known != made->end()) {
        group = known->second;
        return;
      }
      group = mesh.group(name);
      if (group.backend) {
        group.backend =
            c10::make_intrusive<CountedBackend>(group.backend, name, traffic, trace, lent);
      }
      made->emplace(name, group);
    });
  };
  return {mesh.names(), make};
}

Mesh counted(const Mesh& mesh, std::shared_ptr<Traffic> traffic, TraceHandle trace) {
  return training::counted(mesh, std::move(traffic), trace,
                           std::make_shared<training::LentWorks>());
}

}  // namespace assay
