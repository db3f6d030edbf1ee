#include "accounting/machine.h"

#include <stdexcept>

namespace assay::accounting {

namespace {

struct Field {
  const char* name;
  const char* unit;
  const char* description;
  double Machine::*member;
  bool may_be_missing = false;
};

constexpr Field fields_of_machine[] = {
    {"memory_bandwidth", "byte/s", "Of the device's own memory.", &Machine::memory_bandwidth},
    {"bf16_flops", "FLOP/s", "Of dense matrix products in bf16.", &Machine::bf16_flops},
    {"tf32_flops", "FLOP/s", "The same in TF32; left out where none is published.",
     &Machine::tf32_flops, true},
    {"fp32_flops", "FLOP/s", "The same in fp32; left out where none is published.",
     &Machine::fp32_flops, true},
    {"link_bandwidth", "byte/s",
     "What a device brings into a ring over one axis: of a torus both directions of a link, of a "
     "switch what it can send.",
     &Machine::link_bandwidth},
    {"link_axes", "", "Axes that work at the same time; 1 behind a switch.", &Machine::link_axes},
    {"node_devices", "", "Devices that these links reach.", &Machine::node_devices},
    {"node_bandwidth", "byte/s", "A device's share of the network between nodes, one way.",
     &Machine::node_bandwidth},
};

double number(const Options& fields, const std::string& name) {
  const auto found = fields.find(name);
  if (found != fields.end()) {
    if (const auto* whole = std::get_if<std::int64_t>(&found->second))
      return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&found->second)) return *real;
  }
  throw std::invalid_argument("the machine config lacks the number '" + name + "'");
}

}  // namespace

std::vector<ParameterInfo> machine_fields() {
  ParameterInfo memory;
  memory.name = "memory";
  memory.type = ParameterType::size;
  memory.description = "Memory of a device.";
  memory.unit = "byte";
  memory.minimum = 1;
  std::vector<ParameterInfo> fields = {memory};
  for (const Field& field : fields_of_machine) {
    ParameterInfo info;
    info.name = field.name;
    info.type = ParameterType::real;
    info.description = field.description;
    info.unit = field.unit;
    info.minimum = field.may_be_missing ? 0 : 1;
    info.maximum = 1e18;
    if (field.may_be_missing) info.default_value = 0.0;
    fields.push_back(info);
  }
  return fields;
}

Machine machine(const Options& fields) {
  Machine found;
  found.memory = number(fields, "memory");
  for (const Field& field : fields_of_machine) {
    if (field.may_be_missing && !fields.contains(field.name)) continue;
    found.*field.member = number(fields, field.name);
  }
  return found;
}

double peak_flops(const Machine& machine, std::string_view precision) {
  const double flops = precision == "fp32"   ? machine.fp32_flops
                       : precision == "tf32" ? machine.tf32_flops
                                             : machine.bf16_flops;
  if (flops > 0) return flops;
  throw std::invalid_argument("the machine config has no FLOP/s in " + std::string(precision));
}

}  // namespace assay::accounting
