#pragma once

#include <assay/record.h>

#include "accounting/bounds.h"
#include "accounting/mesh_search.h"
#include "accounting/saved.h"

namespace assay::accounting {

// What a case asks about.
struct Case {
  Model model;
  Batch batch;
  Computing computing;
  Machine machine;
  std::string precision;  // the machine's products are taken in this one
  Spread spread;
  double limit = 0;  // bytes of a device
  Mesh mesh;         // question: spread
  int devices = 1;   // question: mesh
  std::string means;
  std::string parallelism;
};

// Each records the answer to one question: series by part, and of each quantity the words of its
// working: unit, formula, substitution, result and source.

// J1: parameters, FLOPs by part, training state, bf16 copies, devices, what is saved for backward.
void record_state(const Case& asked, Recorder& recorder);
// J2: memory of a device over the number of shards.
void record_shards(const Case& asked, Recorder& recorder);
// J3: the batch from which the forward is bound by compute.
void record_bound(const Case& asked, Recorder& recorder);
// J4: what lets that batch shrink.
void record_means(const Case& asked, Recorder& recorder);
// J5: bounds of a way of parallelism.
void record_parallelism(const Case& asked, Recorder& recorder);
// One mesh: memory, volumes and times of a device.
void record_spread(const Case& asked, Recorder& recorder);
// The best mesh under the limit; leaves search.svg and search.csv.
void record_mesh(const Case& asked, Recorder& recorder);

}  // namespace assay::accounting
