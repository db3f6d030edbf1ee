#pragma once

#include "accounting/machine.h"
#include "accounting/model_cost.h"

namespace assay::accounting {

// How a model is spread: data × tensor × pipeline devices. Tensor ranks are neighbours, then data
// ranks, then stages.
struct Mesh {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int zero = 0;           // ZeRO stage of the data ranks: 1 moments, 2 gradients, 3 weights (FSDP)
  bool sequence = false;  // sequence parallel: the tensor ranks also divide norms and residuals
  int microbatches = 1;   // into which a data rank's batch is cut

  int devices() const { return data * tensor * pipeline; }
};

std::string mesh_text(
    const Mesh& mesh);  // "data 8 (ZeRO 3) · tensor 4 (sequence) · pipeline 2, 4 microbatches"

// Bytes a device, with weights, gradients and moments in fp32 and activations in 16 bit:
// "weights", "gradients", "moments", "activations", "device memory". Activations are those of the
// first stage, which holds min(microbatches, pipeline) microbatches. Rajbhandari et al. 2020,
// section 5; Korthikanti et al. 2022, equations 2, 4 and 5.
Quantities device_memory(const Model& model, const Batch& batch, const Mesh& mesh);

// Bytes that a device sends in a step, by way: "data" (a gradient's or a weight's two bytes, by
// ring), "tensor" (all-reduces of two bytes an element, or reduce-scatter with all-gather),
// "pipeline" (activations on, their gradients back), and "sent", their sum.
Quantities sent_by_device(const Model& model, const Batch& batch, const Mesh& mesh);

// Seconds of a step: "compute" at the peak of bf16, "data", "tensor", "pipeline" by the bandwidth
// of what each crosses, "bubble", and "step". Data's communication overlaps everything else.
Quantities step_time(const Model& model, const Batch& batch, const Mesh& mesh,
                     const Machine& machine);

}  // namespace assay::accounting
