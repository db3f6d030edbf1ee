#include "run/cases/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "base/json.h"
#include "base/text.h"
#include "run/cases/topology.h"

namespace assay::run {

namespace {

std::string after_colon(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      const std::size_t colon = line.find_first_of(":=");
      if (colon != std::string::npos)
        return std::string(trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

}  // namespace

Machine probe_machine() {
  return probe_machine(health::GpuSource(health::GpuSource::here()),
                       health::CpuSource(health::CpuSource::here()));
}

Machine probe_machine(const health::GpuSource& gpus, const health::CpuSource& cpus) {
  Machine machine;
  utsname names = {};
  ::uname(&names);
  machine.host = names.nodename;
  machine.cpu = after_colon("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = names.machine;
  machine.cores = cpus.cores();
  machine.memory_bytes =
      static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  machine.system = after_colon("/etc/os-release", "PRETTY_NAME");
  std::erase(machine.system, '"');
  machine.system += std::string(machine.system.empty() ? "" : ", ") + "Linux " + names.release;
  machine.gpu_driver = gpus.driver();
  machine.gpus = gpus.gpus();
  machine.topology = probe_topology(gpus);
  machine.gpu_problem = gpus.problem();
  machine.cpu_problem = cpus.problem();
  return machine;
}

nlohmann::json not_watched(const Machine& machine) {
  nlohmann::json reasons = nlohmann::json::object();
  if (!machine.gpu_problem.empty()) reasons["gpu"] = "not watched: " + machine.gpu_problem;
  if (!machine.cpu_problem.empty()) reasons["cpu"] = "not watched: " + machine.cpu_problem;
  return reasons;
}

nlohmann::json to_json(const Machine& machine) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"compute_capability", gpu.compute_capability},
                    {"uuid", gpu.uuid}});
  }
  return {{"host", machine.host},          {"cpu", machine.cpu},
          {"cores", machine.cores},        {"memory_bytes", machine.memory_bytes},
          {"system", machine.system},      {"gpu_driver", machine.gpu_driver},
          {"gpus", std::move(gpus)},       {"topology", machine.topology},
          {"health", not_watched(machine)}};
}

Machine machine_from_json(const nlohmann::json& json) {
  Machine machine;
  FieldReader fields(json, "a machine");
  fields.text("host", machine.host);
  fields.text("cpu", machine.cpu);
  fields.integer("cores", machine.cores);
  fields.integer("memory_bytes", machine.memory_bytes);
  fields.text("system", machine.system);
  fields.text("gpu_driver", machine.gpu_driver);
  fields.any("topology", machine.topology);
  for (const nlohmann::json& one : member_of(json, "gpus")) {
    Gpu gpu;
    FieldReader of_gpu(one, "a GPU");
    of_gpu.text("name", gpu.name);
    of_gpu.integer("memory_bytes", gpu.memory_bytes);
    of_gpu.text("compute_capability", gpu.compute_capability);
    of_gpu.text("uuid", gpu.uuid);
    machine.gpus.push_back(std::move(gpu));
  }
  const nlohmann::json& watched = member_of(json, "health");
  machine.gpu_problem = string_at(watched, "gpu");
  machine.cpu_problem = string_at(watched, "cpu");
  return machine;
}

}  // namespace assay::run
