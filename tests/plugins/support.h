#pragma once

#include <assay/compile.h>
#include <assay/workload.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "build_folder.h"
#include "default_options.h"
#include "model/differentiable.h"
#include "model/textbook_ops.h"

namespace assay::test {

// The registration of that name in a library, which stays loaded.
inline const PluginEntry& entry_in(const std::string& file, const std::string& name) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  using EntryPoint = const PluginLibrary* (*)() noexcept;
  const auto* registered = reinterpret_cast<EntryPoint>(dlsym(handle, "assay_plugin_library"))();
  for (std::size_t i = 0; i < registered->entry_count; ++i) {
    if (name == registered->entries[i].name) return registered->entries[i];
  }
  throw std::runtime_error(file + " does not hold " + name);
}

// In build/…/plugins/<kind>/<library>.so.
inline const PluginEntry& entry(const std::string& kind, const std::string& library,
                                const std::string& name) {
  return entry_in(build_folder() + "/plugins/" + kind + "/" + library + ".so", name);
}

// Options that are not set have their declared defaults, as in an experiment.
template <class BoundaryOfKind>
std::unique_ptr<BoundaryOfKind> make(const PluginEntry& entry, const Options& set = {}) {
  Options options = default_options(entry);
  for (const auto& [name, value] : set) options[name] = value;
  std::unique_ptr<Boundary> made;
  throw_unless_ok(entry.create(options, made));
  return std::unique_ptr<BoundaryOfKind>(static_cast<BoundaryOfKind*>(made.release()));
}

template <class BoundaryOfKind>
std::unique_ptr<BoundaryOfKind> load(const std::string& kind, const std::string& library,
                                     const std::string& name, const Options& options = {}) {
  return make<BoundaryOfKind>(entry(kind, library, name), options);
}

// From build/…/tests/fixtures/<library>.so.
template <class BoundaryOfKind>
std::unique_ptr<BoundaryOfKind> load_fixture(const std::string& library, const std::string& name) {
  return make<BoundaryOfKind>(
      entry_in(build_folder() + "/tests/fixtures/" + library + ".so", name));
}

inline std::string attention_library(const std::string& name) {
  return name.ends_with("_libtorch") ? "libtorch_sdpa" : name;
}

inline std::string compile_library(const std::string& name) {
  return name == "fused_graph" ? "fused" : name;
}

inline std::unique_ptr<AttentionBoundary> attention(const std::string& name) {
  return load<AttentionBoundary>("attention", attention_library(name), name);
}

struct Case {
  std::unique_ptr<AttentionBoundary> attention;
  std::unique_ptr<NormBoundary> norm;
  std::unique_ptr<CompileBoundary> compile;
  std::unique_ptr<WorkloadBoundary> workload;
  CaseContext context;
};

struct CaseNames {
  std::string workload;
  std::string attention = "naive";
  std::string norm = "rmsnorm";
  std::string precision = "fp32";
  std::string compile = "eager";
};

inline Case make_case(const CaseNames& names, at::Device device = at::kCPU) {
  Case made;
  made.attention = attention(names.attention);
  made.norm = load<NormBoundary>("norm", names.norm, names.norm);
  made.compile = load<CompileBoundary>("compile", compile_library(names.compile), names.compile);
  made.workload = load<WorkloadBoundary>("workload", names.workload, names.workload);

  auto& context = made.context;
  context.device = device;
  context.seed = 5;
  context.compile = made.compile.get();
  context.ops = model::textbook_ops();
  context.ops.attention = model::differentiable(*made.attention);
  model::set_norm(context.ops, *made.norm);
  const auto precision = load<PrecisionBoundary>("precision", "libtorch", names.precision);
  throw_unless_ok(precision->policy(context.precision));
  return made;
}

inline void set_model(CaseContext& context, const std::string& architecture, std::int64_t batch,
                      std::int64_t seq_len, std::int64_t d_model = 32, std::int64_t d_ff = 64,
                      std::int64_t layers = 2, std::int64_t heads = 4) {
  context.parameters = {{"model", std::string("toy")},
                        {"architecture", architecture},
                        {"batch", batch},
                        {"seq_len", seq_len},
                        {"max_grad_norm", 0.0},
                        {"compared_steps", std::int64_t{50}},
                        {"checkpoint_every", std::int64_t{0}},
                        {"predict", false},
                        {"record_memory", false}};
  context.presets["model"] = {{"d_model", d_model},
                              {"d_ff", d_ff},
                              {"layers", layers},
                              {"heads", heads},
                              {"vocab_size", std::int64_t{100}}};
}

// For maps of values, where a literal would be an int.
inline std::int64_t integer(std::int64_t value) { return value; }

inline const std::vector<std::string> call_passes = {"inference", "forward", "backward",
                                                     "forward_backward"};

inline std::unique_ptr<ProgramBoundary> build(const Case& tested) {
  std::unique_ptr<ProgramBoundary> program;
  throw_unless_ok(tested.workload->build(tested.context, program));
  return program;
}

inline Verification verify(const Case& tested, const std::string& pass) {
  Verification verification;
  throw_unless_ok(tested.workload->verify(tested.context, pass, verification));
  return verification;
}

inline std::vector<NamedTensor> call_once(const Case& tested, ProgramBoundary& program,
                                          const std::string& pass) {
  GuardedStep step;
  throw_unless_ok(tested.compile->prepare(program, pass, tested.context, step));
  throw_unless_ok(step.before());
  throw_unless_ok(step.run());
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program.outputs(pass, outputs));
  return outputs;
}

}  // namespace assay::test
