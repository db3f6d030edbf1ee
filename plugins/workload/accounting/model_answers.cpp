#include <algorithm>

#include "answers.h"
#include "working.h"

namespace assay::accounting {

namespace {

// Series of `metric` by part; the quantity named `whole` is the series of no part.
void record_series(const char* metric, const Quantities& quantities, const std::string& whole,
                   Recorder& recorder) {
  for (const Quantity& each : quantities) {
    recorder.sample(metric, each.name == whole ? "" : each.name, each.value);
  }
}

}  // namespace

void record_state(const Case& asked, Recorder& recorder) {
  const Quantities parameters = parameters_by_part(asked.model);
  const double count = value_of(parameters, "parameters");
  record_series("parameters", parameters, "parameters", recorder);
  record_working(parameters, "parameters", recorder);

  const Quantities flops = flops_by_part(asked.model, asked.batch);
  record_series("flops", flops, "step", recorder);
  record_working(flops, "FLOPs", recorder);

  const Quantities state = training_state(count);
  record_series("state_memory", state, "state", recorder);
  record_working(state, "state", recorder);
  const Quantities copies = bf16_copies(count);
  record_series("state_memory", copies, "", recorder);
  record_working(copies, "bf16", recorder);

  const Quantity devices = devices_for(value_of(state, "state"), asked.limit);
  recorder.sample("devices", "", devices.value);
  record_working(devices, "state", recorder);

  const Quantities saved = saved_by_part(asked.model, asked.batch, asked.computing);
  record_series("saved_for_backward", saved, "saved for backward", recorder);
  record_working(saved, "saved", recorder);

  const Quantity tokens = roofline_tokens(asked.machine);
  recorder.sample("bound_batch", "memory", tokens.value);
  record_working(tokens, "roofline", recorder);
}

void record_shards(const Case& asked, Recorder& recorder) {
  const double parameters = value_of(parameters_by_part(asked.model), "parameters");
  const Quantity saved = saved_by_part(asked.model, asked.batch, asked.computing).back();
  const Quantities memory =
      sharded_memory(parameters, saved.value, asked.spread.shards, asked.limit);
  record_working(saved, "activations", recorder);
  record_working(memory, "sharded", recorder);
  for (const Quantity& each : memory) {
    if (each.name == "shards") {
      recorder.sample("least_shards", "", each.value);
    } else {
      recorder.sample("device_memory", each.name == "device memory" ? "" : each.name, each.value);
    }
  }
}

void record_spread(const Case& asked, Recorder& recorder) {
  const Quantities memory = device_memory(asked.model, asked.batch, asked.mesh);
  record_series("device_memory", memory, "device memory", recorder);
  record_working(memory, "memory", recorder);
  const Quantities sent = sent_by_device(asked.model, asked.batch, asked.mesh);
  record_series("communication_volume", sent, "sent", recorder);
  record_working(sent, "sent", recorder);
  const Quantities times = step_time(asked.model, asked.batch, asked.mesh, asked.machine);
  record_series("step_time", times, "step", recorder);
  record_working(times, "time", recorder);
}

void record_mesh(const Case& asked, Recorder& recorder) {
  const MeshSearch search =
      search_mesh(asked.model, asked.batch, asked.devices, asked.machine, asked.limit);
  const auto fits = std::ranges::count_if(
      search.candidates, [&](const Candidate& each) { return each.memory <= asked.limit; });
  recorder.sample("meshes", "tried", static_cast<double>(search.candidates.size()));
  recorder.sample("meshes", "within the limit", static_cast<double>(fits));
  recorder.word("best_mesh", "", search.best ? mesh_text(search.best->mesh) : "none fits");
  if (!search.candidates.empty()) {
    recorder.artefact("search.svg", "image/svg+xml", search_picture(search, asked.limit));
    recorder.artefact("search.csv", "text/csv", search_csv(search, asked.limit));
  }
  if (!search.best) return;
  Case best = asked;
  best.mesh = search.best->mesh;
  record_spread(best, recorder);
}

}  // namespace assay::accounting
