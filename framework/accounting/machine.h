#pragma once

#include <assay/plugin.h>

#include <string_view>
#include <vector>

namespace assay::accounting {

// One device of a machine and how it reaches others, by its data sheet. Bandwidths are byte/s.
struct Machine {
  double memory = 0;            // bytes
  double memory_bandwidth = 0;  // of the device's own memory
  double bf16_flops = 0;        // FLOP/s of dense matrix products
  double tf32_flops = 0;        // 0: none is published
  double fp32_flops = 0;        // the same
  // What a device brings into a ring over one axis of its mesh: of a torus both directions of a
  // link, of a switch what it can send.
  double link_bandwidth = 0;
  double link_axes = 1;       // axes that work at the same time; 1 behind a switch
  double node_devices = 1;    // devices that these links reach
  double node_bandwidth = 0;  // a device's share of the network between nodes, one way
};

// Fields of a file under configs/machines/.
std::vector<ParameterInfo> machine_fields();
// Throws std::invalid_argument for a missing field.
Machine machine(const Options& fields);

// Peak FLOP/s of the products under a precision's name: fp32, tf32; bf16 for all others. Throws
// std::invalid_argument where none is published.
double peak_flops(const Machine& machine, std::string_view precision);

}  // namespace assay::accounting
