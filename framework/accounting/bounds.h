#pragma once

#include "accounting/machine.h"
#include "accounting/model_cost.h"

namespace assay::accounting {

// What bounds two linear layers, d → f → d in bf16, spread over X data (FSDP) and Y tensor devices.
// Notation and the limits of large rings are those of Austin et al. 2025, "How To Scale Your
// Model", part 5: B tokens in all, C FLOP/s a device, W byte/s that a device brings into a ring
// over one mesh axis, M axes that one way of parallelism uses.
struct Spread {
  double d = 0;
  double f = 0;
  double shards = 1;       // X
  double tensor = 1;       // Y
  double data_axes = 1;    // M_X
  double tensor_axes = 1;  // M_Y
  double flops = 0;        // C
  double bandwidth = 0;    // W
};

// J2. "unsharded" and "sharded" bytes of `training_state` and the activations, half of which the
// devices share; "device memory" over so many shards; "shards", the least whose memory is below
// `limit` (infinity where none is). Names: P parameters, A activations of a device's batch.
Quantities sharded_memory(double parameters, double activations, double shards, double limit);

// J3. "alpha" C / W, "tokens for the data axis" and "tokens, collectives in turn" (overall), each
// overall and, rounded up, "device" and "overall" tokens from which the forward is bound by
// compute; "largest tensor", the Y up to which the tensor axis is.
Quantities compute_bound(const Spread& spread);

// Tokens from which a product with a matrix in bf16 is bound by compute and not by reading the
// matrix: C · 2 byte / (2 FLOP · memory bandwidth).
Quantity roofline_tokens(const Machine& machine);

// J4. One of these, its tokens a device from which a step is bound by compute, its least batch in
// whole sequences, and why.
std::vector<std::string> means();
struct Means {
  Quantity tokens;     // a device
  Quantity overall;    // tokens in all
  Quantity sequences;  // in all, at least one for each group of ranks that divides no sequence
  std::string reason;
};
// Throws std::invalid_argument for other means.
Means with_means(const std::string& means, const Spread& spread, double seq_len);

// J5. "dp" (the backward), "fsdp", "tp", "fsdp and tp" (their forward).
std::vector<std::string> ways();
// Seconds of one block's two products over all devices: "compute" and "communication", and "least
// tokens", the overall batch where the two are equal (0: none is needed; infinity: never).
Quantities bounds_of_way(const std::string& way, const Spread& spread, double tokens);

// Seconds of a ring all-reduce of so many bytes over n devices: 2 (n − 1) / n · bytes / W.
Quantity ring_all_reduce(double bytes, double devices, double bandwidth);

}  // namespace assay::accounting
