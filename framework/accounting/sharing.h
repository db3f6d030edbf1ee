#pragma once

#include "accounting/quantity.h"

namespace assay::accounting {

// What a communication variant leaves on each rank and sends, by its definition.
struct Sharing {
  bool parameters = false;  // each is divided by the ranks, or whole
  bool gradients = false;
  bool moments = false;
  bool copies = false;  // 16-bit copies of the parameters that are computed in 16 bit
  // How often a step sends, of all ranks' bytes, gradients and parameters around a ring.
  double gradient_rounds = 0;
  double parameter_rounds = 0;
};

// variant: naive, flat, overlap, bucketed, reducer, sharded_optimizer, zero1, fsdp; others share
// nothing. reshards: fsdp gathers again for the backward.
Sharing sharing_of(const std::string& variant, bool reshards);

// Bytes a rank: "parameters", "gradients", "optimizer", and their sum "state". P parameters of
// which M are computed in 16 bit; n ranks; two moments in fp32.
Quantities rank_state(double parameters, double narrow, double ranks, const Sharing& sharing);

// "volume": bytes that a rank sends in a step. Gradients are fp32; gathered parameters have the
// dtype they are computed in.
Quantity rank_volume(double parameters, double narrow, double ranks, const Sharing& sharing);

// Bytes that a rank sends around a ring for a collective of so many bytes (mesh.h), as nccl-tests
// counts them.
double ring_bytes(const std::string& collective, double bytes, double ranks);

}  // namespace assay::accounting
