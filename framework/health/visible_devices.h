#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::health {

// The GPUs that CUDA shows to a process, as positions in `uuids`, in CUDA's order. `variable`:
// CUDA_VISIBLE_DEVICES, numbers or (beginnings of) UUIDs up to the first invalid one; nullptr:
// unset, all GPUs. `owner_of_part` finds the GPU of a "MIG-…". (CUDA C++ Programming Guide, "CUDA
// Environment Variables".) Numbers follow the PCI bus, as in CUDA with
// CUDA_DEVICE_ORDER=PCI_BUS_ID, or with GPUs of one kind.
std::vector<std::size_t> visible_devices(
    const char* variable, const std::vector<std::string>& uuids,
    const std::function<std::optional<std::size_t>(const std::string&)>& owner_of_part);

}  // namespace assay::health
