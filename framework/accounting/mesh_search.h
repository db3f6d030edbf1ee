#pragma once

#include <optional>

#include "accounting/parallel.h"

namespace assay::accounting {

struct Candidate {
  Mesh mesh;
  double memory = 0;  // bytes a device
  double time_s = 0;  // of a step
};

struct MeshSearch {
  std::vector<Candidate> candidates;  // all, in the order of their numbers
  std::optional<Candidate> best;      // the fastest within the limit; of equals the smallest
};

// Tries every mesh of so many devices that divides the batch's sequences, the model's heads (ffn:
// its f) and its layers: every ZeRO stage where there are data ranks, sequence parallelism where
// there are tensor ranks, and every number of microbatches that divides a rank's sequences, at
// least one a stage. limit: bytes of a device.
MeshSearch search_mesh(const Model& model, const Batch& batch, int devices, const Machine& machine,
                       double limit);

// The search as an SVG: memory a device against the time of a step, both logarithmic, the limit,
// and the best mesh, with each one's name where the pointer rests.
std::string search_picture(const MeshSearch& search, double limit);

// The same as CSV.
std::string search_csv(const MeshSearch& search, double limit);

}  // namespace assay::accounting
