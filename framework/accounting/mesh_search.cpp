#include "accounting/mesh_search.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::accounting {

namespace {

bool divides(int part, double whole) { return std::fmod(whole, part) == 0; }

std::vector<int> divisors(int number) {
  std::vector<int> found;
  for (int i = 1; i <= number; ++i) {
    if (number % i == 0) found.push_back(i);
  }
  return found;
}

bool fits_model(const Mesh& mesh, const Model& model, const Batch& batch) {
  return divides(mesh.data, batch.sequences) && divides(mesh.pipeline, model.layers) &&
         divides(mesh.tensor, model.family == Family::ffn ? model.f : model.heads);
}

class Search {
 public:
  Search(const Model& model, const Batch& batch, const Machine& machine, double limit)
      : model_(model), batch_(batch), machine_(machine), limit_(limit) {}

  void add_shape(Mesh mesh) {
    for (mesh.zero = 0; mesh.zero <= (mesh.data > 1 ? 3 : 0); ++mesh.zero) {
      for (const bool sequence : {false, true}) {
        mesh.sequence = sequence;
        if (!sequence || mesh.tensor > 1) add_microbatches(mesh);
      }
    }
  }

  MeshSearch found;

 private:
  // Without stages more than one microbatch only takes longer, but needs less memory.
  void add_microbatches(Mesh mesh) {
    for (const int microbatches : divisors(static_cast<int>(batch_.sequences / mesh.data))) {
      if (microbatches < mesh.pipeline) continue;
      mesh.microbatches = microbatches;
      add({mesh, value_of(device_memory(model_, batch_, mesh), "device memory"),
           value_of(step_time(model_, batch_, mesh, machine_), "step")});
    }
  }

  void add(const Candidate& candidate) {
    found.candidates.push_back(candidate);
    if (candidate.memory > limit_) return;
    const auto& best = found.best;
    if (!best || candidate.time_s < best->time_s ||
        (candidate.time_s == best->time_s && candidate.memory < best->memory)) {
      found.best = candidate;
    }
  }

  const Model& model_;
  const Batch& batch_;
  const Machine& machine_;
  double limit_;
};

}  // namespace

MeshSearch search_mesh(const Model& model, const Batch& batch, int devices, const Machine& machine,
                       double limit) {
  Search search(model, batch, machine, limit);
  for (const int tensor : divisors(devices)) {
    for (const int pipeline : divisors(devices / tensor)) {
      const Mesh mesh = {
          .data = devices / tensor / pipeline, .tensor = tensor, .pipeline = pipeline};
      if (fits_model(mesh, model, batch)) search.add_shape(mesh);
    }
  }
  return std::move(search.found);
}

std::string search_csv(const MeshSearch& search, double limit) {
  std::string csv = "data,tensor,pipeline,zero,sequence,microbatches,memory_bytes,time_s,fits\n";
  for (const auto& [mesh, memory, time_s] : search.candidates) {
    csv += fmt::format("{},{},{},{},{},{},{:.0f},{:.6g},{}\n", mesh.data, mesh.tensor,
                       mesh.pipeline, mesh.zero, mesh.sequence ? 1 : 0, mesh.microbatches, memory,
                       time_s, memory <= limit ? 1 : 0);
  }
  return csv;
}

}  // namespace assay::accounting
