#pragma once

#include <assay/communication.h>

#include "accounting/quantity.h"

namespace assay::accounting {

// Bytes a rank: "parameters", "gradients", "optimizer", and their sum "state". P parameters of
// which M are computed in 16 bit; n ranks; two moments in fp32.
Quantities rank_state(double parameters, double narrow, double ranks, const Sharing& sharing);

// "volume": bytes that a rank sends in a step. Gathered parameters have the dtype they are
// computed in.
Quantity rank_volume(double parameters, double narrow, double ranks, const Sharing& sharing);

// Bytes that a rank sends around a ring for a collective of so many bytes (mesh.h).
double ring_bytes(const std::string& collective, double bytes, double ranks);

}  // namespace assay::accounting
