#include "run/cases/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/host_memory.h"
#include "base/text.h"
#include "config/host_parameters.h"
#include "config/observers.h"

namespace assay::run {

namespace {

class Resolver {
 public:
  Resolver(const Surroundings& surroundings, ResolvedCase& resolved)
      : around_(surroundings), case_(resolved), parameters_(resolved.request.parameters) {}

  void run() {
    find_plugins();
    settle_device();
    settle_backend();
    settle_clock();
    case_.time_limit_s = store::number_of(parameters_, "measure.timeout", 600);
    const std::string isolation = store::text_of(parameters_, "measure.isolation");
    case_.fresh_workers = isolation != "shared";
    case_.pass_by_pass = isolation == "pass";
    case_.request.artefact_limit_bytes =
        store::integer_of(parameters_, "measure.artefact_limit", config::artefact_limit_bytes);
    add_presets();
    case_.skipped = reason_to_skip();
  }

 private:
  void find_plugins() {
    for (const std::string_view kind : catalogue::kinds) {
      const std::string name = store::text_of(parameters_, std::string(kind));
      const catalogue::PluginInfo* plugin =
          name.empty() ? nullptr : around_.catalogue.find(kind, name);
      if (plugin == nullptr) continue;
      plugins_.push_back(plugin);
      if (kind == "workload") {
        workload_ = plugin;
        case_.unclocked = plugin->unclocked;
      }
      if (plugin->external()) {
        case_.external = plugin;
      } else {
        choose_library(*plugin);
      }
    }
    const std::string observe = store::text_of(parameters_, std::string(config::observe_setting));
    for (const std::string& name : config::observers_in(observe)) {
      const catalogue::PluginInfo* observer = around_.catalogue.find("observer", name);
      if (observer == nullptr) continue;
      plugins_.push_back(observer);
      add_file(observer->file);
      case_.request.observers.push_back(name);
    }
  }

  void choose_library(const catalogue::PluginInfo& plugin) {
    const auto values = compiled_values(
        plugin, [&](const std::string& name) { return store::value_of(parameters_, name); });
    const bool own = around_.compiled == nullptr || values.empty() ||
                     values == catalogue::built_with(plugin.parameters);
    if (own) return add_file(plugin.file);
    const CompiledLibrary* library = around_.compiled->find(plugin, values);
    if (library != nullptr && !library->file.empty()) return add_file(library->file);
    add_file(plugin.file);
    if (library == nullptr || library->outcome == Outcome::skipped) {
      without_library_ = library != nullptr
                             ? library->reason
                             : "no library was built for " + catalogue::to_text(values);
    } else {
      case_.not_built = {library->outcome, library->reason};
    }
    if (library == nullptr) return;
    for (const std::string& source : library->sources) add_file(source);
  }

  void add_file(const std::string& file) {
    auto& files = case_.request.plugin_files;
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }

  bool gpu_usable() const { return around_.cuda_build && !around_.machine.gpus.empty(); }
  bool on_cuda() const { return store::text_of(parameters_, "device") == "cuda"; }

  void settle_device() {
    if (store::text_of(parameters_, "device") == "auto") {
      parameters_["device"] = std::string(gpu_usable() ? "cuda" : "cpu");
    }
  }

  void settle_backend() {
    if (store::text_of(parameters_, "backend") != "auto") return;
    const bool alone = store::integer_of(parameters_, "world_size", 1) == 1;
    parameters_["backend"] = std::string(alone ? "none" : on_cuda() ? "nccl" : "gloo");
  }

  void settle_clock() {
    if (store::text_of(parameters_, "measure.clock") != "auto") return;
    const bool device_clock =
        on_cuda() && workload_ != nullptr && !workload_->default_clock.empty();
    parameters_["measure.clock"] = device_clock ? workload_->default_clock : std::string("wall");
  }

  // "model: small" adds the fields of configs/models/small.yaml.
  void add_presets() {
    if (workload_ == nullptr) return;
    for (const ParameterInfo& parameter : workload_->parameters) {
      if (parameter.type != ParameterType::config) continue;
      const auto preset = around_.experiment.presets.find(
          parameter.name + "/" + store::text_of(parameters_, parameter.name));
      if (preset == around_.experiment.presets.end()) continue;
      store::Parameters fields;
      for (const auto& [name, value] : preset->second.items()) {
        if (value.is_number_integer()) fields[name] = value.get<std::int64_t>();
        if (value.is_number_float()) fields[name] = value.get<double>();
        if (value.is_string()) fields[name] = value.get<std::string>();
      }
      case_.request.presets[parameter.name] = std::move(fields);
    }
  }

  std::optional<std::string> reason_to_skip() const {
    const std::int64_t world_size = store::integer_of(parameters_, "world_size", 1);
    const auto gpus = static_cast<std::int64_t>(around_.machine.gpus.size());
    if (on_cuda() && !around_.cuda_build) return "this build of assay has no CUDA";
    if (on_cuda() && gpus == 0) return "no GPU: " + around_.machine.gpu_problem;
    const std::int64_t nodes = store::integer_of(parameters_, "nodes", 1);
    const auto& no_place = around_.machine.no_place;
    if (!no_place && on_cuda() && world_size > gpus) {
      return fmt::format("world_size {} needs {} GPUs, this machine has {}", world_size, world_size,
                         gpus);
    }
    if (store::text_of(parameters_, "backend") == "nccl" && !on_cuda()) return "NCCL needs GPUs";
    if (!no_place) {
      if (auto reason = reason_of_memory(world_size)) return reason;
    }
    if (auto reason = reason_of_device()) return reason;
    if (world_size > 1 && store::text_of(parameters_, "backend") == "none") {
      return "several ranks need a backend, gloo or nccl";
    }
    if (!no_place && nodes > 1) return "more than one node needs a launcher (--launcher)";
    if (no_place) {
      if (auto why = no_place(static_cast<int>(world_size), static_cast<int>(nodes), on_cuda())) {
        return why;
      }
      if (case_.external != nullptr) return "external programs are run by --launcher local alone";
    }
    return without_library_;
  }

  // Ranks that hold nothing yet need memory as well, each for a process with LibTorch.
  std::optional<std::string> reason_of_memory(std::int64_t world_size) const {
    constexpr std::int64_t least_of_a_worker = std::int64_t{64} << 20;
    const auto limit = host_memory_limit();
    const bool is_limited =
        limit && *limit &&
        (around_.machine.memory_bytes <= 0 || **limit < around_.machine.memory_bytes);
    const std::int64_t memory = is_limited ? **limit : around_.machine.memory_bytes;
    if (case_.external != nullptr || memory <= 0 || world_size <= memory / least_of_a_worker) {
      return {};
    }
    return fmt::format(
        "world_size {} needs at least {} for its worker processes, {} {}", world_size,
        human_size(world_size * least_of_a_worker),
        is_limited ? fmt::format("{} leaves", memory_limit_variable) : "this machine has",
        human_size(memory));
  }

  std::optional<std::string> reason_of_device() const {
    const std::string device = store::text_of(parameters_, "device");
    const std::string clock = store::text_of(parameters_, "measure.clock");
    if (!clock.empty() && clock != "wall" && !on_cuda()) {
      return fmt::format("the clock {} measures on cuda only, this case is on {}", clock, device);
    }
    for (const catalogue::PluginInfo* plugin : plugins_) {
      if (plugin->runs_on(device)) continue;
      return fmt::format("{} {} runs on {} only, this case is on {}", plugin->kind, plugin->name,
                         join(plugin->devices, " and "), device);
    }
    return {};
  }

  const Surroundings& around_;
  ResolvedCase& case_;
  store::Parameters& parameters_;
  std::vector<const catalogue::PluginInfo*> plugins_;
  const catalogue::PluginInfo* workload_ = nullptr;
  std::optional<std::string> without_library_;
};

// What the experiment names for all cases, and what the entries of `include` name that make this
// one, which lacks what is left out at its default.
std::set<std::string> pinned_in(const config::Experiment& experiment,
                                const store::Parameters& parameters) {
  std::set<std::string> pinned = experiment.pinned;
  for (std::size_t i = 0; i < experiment.include.size(); ++i) {
    const bool makes_it = std::ranges::all_of(experiment.include[i], [&](const auto& set) {
      const auto found = parameters.find(set.first);
      return found == parameters.end() || found->second == set.second;
    });
    if (!makes_it) continue;
    const std::set<std::string>& named = experiment.include_named[i];
    pinned.insert(named.begin(), named.end());
  }
  return pinned;
}

}  // namespace

ResolvedCase resolve(const Surroundings& surroundings, std::int64_t ordinal,
                     const store::Parameters& parameters) {
  ResolvedCase resolved;
  resolved.request.ordinal = ordinal;
  resolved.request.parameters = parameters;
  resolved.request.passes = surroundings.experiment.passes;
  resolved.request.pinned = pinned_in(surroundings.experiment, parameters);
  Resolver(surroundings, resolved).run();
  return resolved;
}

int world_size_of(const ResolvedCase& resolved) {
  return static_cast<int>(store::integer_of(resolved.request.parameters, "world_size", 1));
}

}  // namespace assay::run
