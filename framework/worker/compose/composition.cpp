#include "worker/compose/composition.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <typeindex>
#include <utility>

#include "model/differentiable.h"
#include "model/numeric_modes.h"
#include "model/textbook_ops.h"

namespace assay::worker {

namespace {

// "attention.block_m" → "block_m", for one kind's options.
Options options_of(const store::Parameters& parameters, const std::string& kind) {
  Options options;
  const std::string prefix = kind + ".";
  for (const auto& [name, value] : parameters) {
    if (name.starts_with(prefix)) options[name.substr(prefix.size())] = value;
  }
  return options;
}

const PluginEntry& entry_of(PluginLoader& loader, const std::string& kind, const std::string& name,
                            const Options& options) {
  const auto entry = loader.find(kind, name, options);
  if (entry) return **entry;
  throw PluginFailure({Outcome::error, entry.error().text()});
}

// A case does not hold these at their defaults; plugins read them all the same.
void add_left_out(const PluginDescription& description, Options& options) {
  for (const ParameterInfo& info : description.parameters) {
    if (info.left_out_at_default) options.try_emplace(info.name, info.default_value);
  }
}

template <class BoundaryOfKind>
std::unique_ptr<BoundaryOfKind> make(const PluginLoader& loader, const PluginEntry& entry,
                                     Options options) {
  add_left_out(loader.description(entry), options);
  std::unique_ptr<Boundary> made;
  throw_unless_ok(entry.create(options, made));
  return std::unique_ptr<BoundaryOfKind>(static_cast<BoundaryOfKind*>(made.release()));
}

template <class BoundaryOfKind>
std::unique_ptr<BoundaryOfKind> make(PluginLoader& loader, const store::Parameters& parameters,
                                     const std::string& kind) {
  const std::string name = store::text_of(parameters, kind);
  if (name.empty()) return nullptr;
  const Options options = options_of(parameters, kind);
  return make<BoundaryOfKind>(loader, entry_of(loader, kind, name, options), options);
}

void load_libraries(PluginLoader& loader, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (const auto loaded = loader.load(file); !loaded) {
      throw PluginFailure({Outcome::error, loaded.error().text()});
    }
  }
}

// Parameters without a dot. Besides the workload's own these are the kinds and the host's.
Options workload_parameters(const store::Parameters& parameters) {
  Options own;
  for (const auto& [name, value] : parameters) {
    if (name.find('.') == std::string::npos) own[name] = value;
  }
  return own;
}

// All functions of a signature are of one type, and told apart by their address.
template <class R, class... Parameters>
auto code_of(const std::function<R(Parameters...)>& operation) {
  const auto* function = operation.template target<R (*)(Parameters...)>();
  return std::pair(std::type_index(operation.target_type()),
                   function == nullptr ? nullptr : reinterpret_cast<const void*>(*function));
}

// Which code each operation is.
auto code_of(const Ops& ops) {
  return std::array{code_of(ops.attention), code_of(ops.norm),   code_of(ops.add_norm),
                    code_of(ops.linear),    code_of(ops.qkv),    code_of(ops.gate_up),
                    code_of(ops.rope),      code_of(ops.swiglu), code_of(ops.gelu),
                    code_of(ops.embedding), code_of(ops.loss),   code_of(ops.optimizer)};
}

std::uint64_t seed_of(const store::Parameters& parameters) {
  return static_cast<std::uint64_t>(store::integer_of(parameters, "measure.seed", 0));
}

}  // namespace

std::unique_ptr<CommunicationBoundary> make_communication(PluginLoader& loader,
                                                          const store::Parameters& parameters) {
  return make<CommunicationBoundary>(loader, parameters, "communication");
}

std::unique_ptr<ObserverBoundary> make_observer(PluginLoader& loader,
                                                const store::Parameters& parameters,
                                                const std::string& name) {
  const Options options = options_of(parameters, name);
  return make<ObserverBoundary>(loader, entry_of(loader, "observer", name, options), options);
}

std::vector<MetricInfo> observer_metrics(PluginLoader& loader, const std::string& name) {
  return loader.description(entry_of(loader, "observer", name, {})).workload.metrics;
}

std::unique_ptr<Composition> compose(PluginLoader& loader, const wire::CaseRequest& request,
                                     const at::Device& device, const Mesh& mesh) {
  load_libraries(loader, request.plugin_files);
  auto composition = std::make_unique<Composition>();
  const store::Parameters& parameters = request.parameters;
  composition->attention = make<AttentionBoundary>(loader, parameters, "attention");
  composition->norm = make<NormBoundary>(loader, parameters, "norm");
  composition->precision = make<PrecisionBoundary>(loader, parameters, "precision");
  composition->communication = make_communication(loader, parameters);
  composition->compile = make<CompileBoundary>(loader, parameters, "compile");
  const PluginEntry& workload = entry_of(loader, "workload", store::text_of(parameters, "workload"),
                                         workload_parameters(parameters));
  const PluginDescription& description = loader.description(workload);
  composition->workload = make<WorkloadBoundary>(loader, workload, {});
  composition->metrics = description.workload.metrics;
  composition->unclocked = description.workload.unclocked;
  if (store::truth_of(parameters, "measure.phases", false)) {
    composition->tracer = measure::Tracer::make(device);
  }

  CaseContext& context = composition->context;
  context.parameters = workload_parameters(parameters);
  add_left_out(description, context.parameters);
  for (const auto& [name, fields] : request.presets) context.presets[name] = fields;
  context.device = device;
  context.group = mesh.world();
  context.mesh = mesh;
  context.communication = composition->communication.get();
  context.compile = composition->compile.get();
  context.seed = seed_of(parameters);
  context.trace = TraceHandle(composition->tracer.get());

  context.ops = model::textbook_ops();
  if (composition->attention)
    context.ops.attention = model::differentiable(*composition->attention);
  if (composition->norm) model::set_norm(context.ops, *composition->norm);
  if (composition->precision) {
    throw_unless_ok(composition->precision->policy(context.precision));
    throw_unless_ok(guarded([&] { model::set_numeric_modes(context.precision, device); }));
    throw_unless_ok(composition->precision->wrap(context.ops));
  }
  if (composition->compile) {
    const auto before = code_of(context.ops);
    throw_unless_ok(composition->compile->select(context.ops, request.pinned));
    composition->operations_selected = code_of(context.ops) != before;
  }
  model::complete(context.ops);
  return composition;
}

}  // namespace assay::worker
