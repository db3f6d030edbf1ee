#include "accounting/parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "accounting/saved.h"

namespace assay::accounting {

namespace {

constexpr const char* zero_paper = "Rajbhandari et al. 2020, sections 5 and 7";
constexpr const char* megatron = "Shoeybi et al. 2019, section 3";
constexpr const char* sequence_paper = "Korthikanti et al. 2022, section 4";
constexpr const char* pipeline_paper = "Narayanan et al. 2021, section 2.2";

// The share of a tensor that each of n ranks sends around a ring, once.
double ring_share(double ranks) { return (ranks - 1) / ranks; }

double parameters_of_device(const Model& model, const Mesh& mesh) {
  return value_of(parameters_by_part(model), "parameters") / (mesh.tensor * mesh.pipeline);
}

Batch batch_of_rank(const Batch& batch, const Mesh& mesh) {
  return {batch.sequences / mesh.data, batch.seq_len};
}

// Saved bytes that tensor parallelism divides in any case: everything between the two products of
// a pair. Norms and the products' inputs follow only with sequence parallelism.
bool divided(const std::string& part) {
  return part != "norms" && part != "inputs of products" && part != "last norm and head's input";
}

double activations(const Model& model, const Batch& of_rank, const Mesh& mesh) {
  const Computing computing = {
      .mixed = true, .attention = "flash_libtorch", .norm = "rmsnorm_libtorch"};
  const Batch microbatch = {of_rank.sequences / mesh.microbatches, of_rank.seq_len};
  const double in_flight = std::min(mesh.microbatches, mesh.pipeline);
  double bytes = 0;
  if (model.family == Family::ffn) {
    // The second layer's input is divided, the first one's only by sequence parallelism.
    const double first = 2 * microbatch.tokens() * model.d / (mesh.sequence ? mesh.tensor : 1);
    bytes = first + 2 * microbatch.tokens() * model.f / mesh.tensor;
  } else {
    Quantities parts = saved_by_block(model, microbatch, computing);
    parts.pop_back();
    for (const Quantity& part : parts) {
      bytes += part.value / (mesh.sequence || divided(part.name) ? mesh.tensor : 1);
    }
  }
  return bytes * model.layers / mesh.pipeline * in_flight;
}

Quantity data_volume(double n, const Mesh& mesh) {
  const double gathers =
      2.0 * mesh.microbatches + 1;  // ZeRO 3: forward and backward, then gradients
  const double passes = mesh.zero == 3 ? gathers : 2;
  const double data = mesh.data;
  return quantity("data", "byte",
                  mesh.zero == 3 ? "(2 * M + 1) * (D - 1) / D * 2 * n" : "2 * (D - 1) / D * 2 * n",
                  {{"M", mesh.microbatches}, {"D", data}, {"n", n}},
                  passes * ring_share(data) * 2 * n, zero_paper);
}

Quantity tensor_volume(const Model& model, const Batch& of_rank, const Mesh& mesh) {
  // A pair of products has an all-reduce in the forward and one in the backward.
  const double pairs = model.family == Family::ffn ? 1 : 2;
  const double t = mesh.tensor;
  const double blocks = model.layers / mesh.pipeline;
  return quantity(
      "tensor", "byte", "2 * pairs * blocks * 2 * (t - 1) / t * 2 * T * d",
      {{"pairs", pairs}, {"blocks", blocks}, {"t", t}, {"T", of_rank.tokens()}, {"d", model.d}},
      2 * pairs * blocks * 2 * ring_share(t) * 2 * of_rank.tokens() * model.d,
      mesh.sequence ? sequence_paper : megatron);
}

Quantity pipeline_volume(const Model& model, const Batch& of_rank, const Mesh& mesh) {
  const double split = mesh.sequence ? mesh.tensor : 1;
  const double crosses = mesh.pipeline > 1 ? 2 : 0;
  return quantity("pipeline", "byte", "crosses * 2 * T * d / split",
                  {{"crosses", crosses}, {"T", of_rank.tokens()}, {"d", model.d}, {"split", split}},
                  crosses * 2 * of_rank.tokens() * model.d / split, pipeline_paper);
}

// Bandwidth among neighbours that span so many devices.
double bandwidth(const Machine& machine, double spanned) {
  return spanned <= machine.node_devices ? machine.link_bandwidth : machine.node_bandwidth;
}

}  // namespace

std::string mesh_text(const Mesh& mesh) {
  std::string text = fmt::format("data {}", mesh.data);
  if (mesh.zero > 0) text += fmt::format(" (ZeRO {})", mesh.zero);
  text += fmt::format(" · tensor {}{} · pipeline {}", mesh.tensor,
                      mesh.sequence ? " (sequence)" : "", mesh.pipeline);
  if (mesh.microbatches > 1) text += fmt::format(", {} microbatches", mesh.microbatches);
  return text;
}

Quantities device_memory(const Model& model, const Batch& batch, const Mesh& mesh) {
  const double n = parameters_of_device(model, mesh);
  const auto share = [&](int stage) { return mesh.zero >= stage ? double(mesh.data) : 1.0; };
  const auto state = [&](const char* name, double bytes, int stage) {
    return quantity(name, "byte", fmt::format("{:.0f} * n / shards", bytes),
                    {{"n", n}, {"shards", share(stage)}}, bytes * n / share(stage), zero_paper);
  };
  Quantities parts = {state("weights", 4, 3), state("gradients", 4, 2), state("moments", 8, 1)};
  parts.push_back({"activations", "byte", "of the first stage", "",
                   activations(model, batch_of_rank(batch, mesh), mesh), sequence_paper});
  parts.push_back(sum("device memory", parts));
  return parts;
}

Quantities sent_by_device(const Model& model, const Batch& batch, const Mesh& mesh) {
  const Batch of_rank = batch_of_rank(batch, mesh);
  Quantities parts = {data_volume(parameters_of_device(model, mesh), mesh),
                      tensor_volume(model, of_rank, mesh), pipeline_volume(model, of_rank, mesh)};
  parts.push_back(sum("sent", parts));
  return parts;
}

Quantities step_time(const Model& model, const Batch& batch, const Mesh& mesh,
                     const Machine& machine) {
  const double flops = value_of(flops_by_part(model, batch), "step");
  const Quantities sent = sent_by_device(model, batch, mesh);
  Quantities parts = {quantity("compute", "s", "F / (N * C)",
                               {{"F", flops}, {"N", mesh.devices()}, {"C", machine.bf16_flops}},
                               flops / (mesh.devices() * machine.bf16_flops))};
  const auto add = [&](const char* way, double spanned) {
    const double bytes = value_of(sent, way);
    const double per_second = bandwidth(machine, spanned);
    parts.push_back(
        quantity(way, "s", "sent / W", {{"sent", bytes}, {"W", per_second}}, bytes / per_second));
  };
  add("data", double(mesh.data) * mesh.tensor);
  add("tensor", mesh.tensor);
  add("pipeline", mesh.devices());
  const double alone = parts[0].value + value_of(parts, "tensor") + value_of(parts, "pipeline");
  const double bubble = (mesh.pipeline - 1.0) / mesh.microbatches;
  parts.push_back(quantity("bubble", "s", "(p - 1) / M * alone",
                           {{"p", mesh.pipeline}, {"M", mesh.microbatches}, {"alone", alone}},
                           bubble * alone, pipeline_paper));
  const double data = value_of(parts, "data");
  parts.push_back(
      quantity("step", "s", "max(alone * (1 + (p - 1) / M), data)",
               {{"alone", alone}, {"p", mesh.pipeline}, {"M", mesh.microbatches}, {"data", data}},
               std::max(alone * (1 + bubble), data)));
  return parts;
}

}  // namespace assay::accounting
