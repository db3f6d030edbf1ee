#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay::health {

// The GPUs that CUDA shows to a process, as positions in `uuids`, in CUDA's order. `variable` is
// its CUDA_VISIBLE_DEVICES: numbers or (beginnings of) UUIDs, up to the first that names none;
// nullptr where it is not set and all are shown. `owner_of_part` finds the GPU that "MIG-…" is
// a part of. (CUDA C++ Programming Guide, "CUDA Environment Variables".)
//
// Numbers count GPUs in the order of the PCI bus. CUDA does so with CUDA_DEVICE_ORDER=PCI_BUS_ID,
// and where all GPUs are of one kind.
std::vector<std::size_t> visible_devices(
    const char* variable, const std::vector<std::string>& uuids,
    const std::function<std::optional<std::size_t>(const std::string&)>& owner_of_part);

}  // namespace assay::health
