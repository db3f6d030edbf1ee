#include "health/gpu_source.h"

#include <fmt/format.h>

#include <cstdlib>

#include "health/visible_devices.h"

namespace assay::health {

GpuSource::Settings GpuSource::here() {
  Settings settings;
  settings.visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return settings;
}

GpuSource::GpuSource(const Settings& settings) : processes_(settings.processes) {
  auto nvml = Nvml::open(settings.library);
  if (!nvml) {
    problem_ = nvml.error();
    return;
  }
  nvml_ = std::move(*nvml);
  driver_ = nvml_->driver_version();
  std::vector<std::string> uuids;
  for (Nvml::Index gpu = 0; gpu < nvml_->count(); ++gpu) uuids.push_back(nvml_->uuid(gpu));
  const auto owner_of_part = [&](const std::string& uuid) -> std::optional<std::size_t> {
    const auto gpu = nvml_->owner_of_part(uuid);
    return gpu && *gpu < uuids.size() ? std::optional<std::size_t>(*gpu) : std::nullopt;
  };
  for (const std::size_t gpu : visible_devices(settings.visible, uuids, owner_of_part)) {
    const auto index = static_cast<Nvml::Index>(gpu);
    indices_.push_back(index);
    gpus_.push_back({nvml_->name(index), nvml_->memory_bytes(index),
                     nvml_->compute_capability(index), nvml_->uuid(index)});
  }
  if (uuids.empty()) {
    problem_ = "the NVIDIA driver sees no GPU";
  } else if (gpus_.empty()) {
    problem_ = fmt::format("CUDA_VISIBLE_DEVICES={} hides every GPU of this machine",
                           settings.visible == nullptr ? "" : settings.visible);
  }
}

void GpuSource::read(Depth depth, const std::vector<int>& devices, Reading& reading) {
  for (const int device : devices) {
    const auto place = static_cast<std::size_t>(device);
    if (device < 0 || place >= indices_.size()) continue;
    GpuReading gpu;
    gpu.device = device;
    nvml_->glance(indices_[place], gpu);
    if (depth != Depth::glance) nvml_->read_energy(indices_[place], gpu);
    if (depth == Depth::thorough) {
      nvml_->read_held(indices_[place], gpu);
      gpu.processes = nvml_->processes(indices_[place]);
      if (gpu.processes) tell_owners(*gpu.processes);
    }
    reading.gpus.push_back(std::move(gpu));
  }
}

void GpuSource::tell_owners(std::vector<GpuProcess>& processes) const {
  for (GpuProcess& process : processes) {
    if (processes_.is_ours(process.pid)) {
      process.owner = GpuProcess::Owner::us;
    } else if (processes_.exists(process.pid) || processes_.sees_all()) {
      process.owner = GpuProcess::Owner::others;
    }
    const std::string name = processes_.name(process.pid);
    if (!name.empty()) process.name = name;
  }
}

GpuPlace GpuSource::place_of(int device) const {
  const Nvml::Index gpu = indices_.at(static_cast<std::size_t>(device));
  GpuPlace place = {nvml_->pci_address(gpu), nvml_->nvlinks(gpu), {}};
  for (const Nvml::Index other : indices_) {
    place.ways.push_back(other == gpu ? "" : nvml_->link(gpu, other));
  }
  return place;
}

std::optional<double> GpuSource::power_limit_w(int device) const {
  return nvml_->power_limit_w(indices_.at(static_cast<std::size_t>(device)));
}

std::optional<double> GpuSource::highest_sm_clock_hz(int device) const {
  return nvml_->highest_sm_clock_hz(indices_.at(static_cast<std::size_t>(device)));
}

}  // namespace assay::health
