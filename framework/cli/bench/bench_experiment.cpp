#include "cli/bench/bench_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/renamed_variants.h"
#include "base/text.h"
#include "config/vocabulary.h"

namespace assay::cli {

namespace {

constexpr const char* usual_workload = "model_step";
constexpr std::string_view measure = "measure.";

std::vector<std::string> names_of(const catalogue::Catalogue& catalogue, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto* plugin : catalogue.of_kind(kind)) names.push_back(plugin->name);
  return names;
}

Result<void> check_kind(const catalogue::Catalogue& catalogue, const BenchRequest& request) {
  std::vector<std::string> kinds(std::begin(catalogue::kinds), std::end(catalogue::kinds));
  std::erase(kinds, "workload");
  std::erase(kinds, "observer");
  if (std::ranges::count(kinds, request.kind) == 0) {
    return fail(ExitCode::bad_input, fmt::format("there is no kind '{}' to compare variants of{}",
                                                 request.kind, suggestion(request.kind, kinds)));
  }
  if (request.variants.empty()) {
    return fail(
        ExitCode::bad_input, fmt::format("no {} is named", request.kind),
        "name variants, or sources of your own: " + join(names_of(catalogue, request.kind), ", "));
  }
  for (const std::string& name : request.variants) {
    if (catalogue.find(request.kind, name) != nullptr) continue;
    return fail(
        ExitCode::bad_input,
        fmt::format("there is no {} '{}'{}", request.kind, name,
                    variant_suggestion(request.kind, name, names_of(catalogue, request.kind))),
        "a source is named with its ending: mine.cpp, mine.cu, or a folder as mine/");
  }
  return {};
}

// An experiment in the order in which it is written.
class Writer {
 public:
  Writer(const config::Environment& environment, const catalogue::PluginInfo& workload,
         const BenchRequest& request)
      : environment_(environment), workload_(workload), request_(request) {}

  Result<std::string> write() {
    for (const auto* given : {&request_.parameters, &request_.settings}) {
      for (const auto& [name, value] : *given) {
        const auto known = resolved(name);
        if (!known) return tl::unexpected(known.error());
        if (*known != request_.kind) place(*known, value);
      }
    }
    use_usual_measuring();
    return text();
  }

 private:
  // The name as an experiment has it.
  Result<std::string> resolved(const std::string& name) const {
    for (const std::string& each :
         {name, request_.kind + "." + name, std::string(measure) + name}) {
      if (each == "measure.passes" || config::has_name(environment_, workload_.name, each)) {
        return each;
      }
    }
    const config::Vocabulary vocabulary(*environment_.catalogue, workload_);
    return fail(ExitCode::bad_input, "--" + name + ": " + vocabulary.objection(name));
  }

  void place(const std::string& name, const std::string& value) {
    if (!placed_.insert(name).second) return;  // what was given first counts
    const bool list = value.starts_with('[');
    if (name == "measure.passes") {
      measure_.emplace_back("passes", list ? value : "[" + value + "]");
    } else if (list) {
      matrix_.emplace_back(name, value);
    } else if (name.starts_with(measure)) {
      measure_.emplace_back(name.substr(measure.size()), value);
    } else {
      fixed_.emplace_back(name, value);
    }
  }

  void use_usual_measuring() {
    const bool samples = placed_.contains("measure.samples");
    const bool target = placed_.contains("measure.target");
    if (!samples && !target) {
      place("measure.target", "1 %");
      place("measure.min_samples", "20");
      place("measure.max_time", "5 s");
    }
    // Each group of the turns has processes of its own.
    place("measure.isolation", "case");
    if (request_.variants.size() > 1) place("measure.interleave", request_.kind);
  }

  std::string text() const {
    std::string text =
        fmt::format("experiment: bench_{}\ntitle: {} {}\nworkload: {}\nmatrix:\n", request_.kind,
                    request_.kind, join(request_.variants, ", "), workload_.name);
    if (request_.runs > 1 && !placed_.contains("repeat")) {
      std::vector<std::string> numbers;
      for (int run = 0; run < request_.runs; ++run) numbers.push_back(std::to_string(run));
      text += fmt::format("  repeat: [{}]\n", join(numbers, ", "));
    }
    for (const auto& [name, value] : matrix_) text += fmt::format("  {}: {}\n", name, value);
    text += fmt::format("  {}: [{}]\n", request_.kind, join(request_.variants, ", "));
    for (const auto& [heading, entries] : {std::pair("fixed", &fixed_), {"measure", &measure_}}) {
      if (entries->empty()) continue;
      text += fmt::format("{}:\n", heading);
      for (const auto& [name, value] : *entries) text += fmt::format("  {}: {}\n", name, value);
    }
    return text;
  }

  using Entries = std::vector<std::pair<std::string, std::string>>;

  const config::Environment& environment_;
  const catalogue::PluginInfo& workload_;
  const BenchRequest& request_;
  std::set<std::string> placed_;
  Entries matrix_, fixed_, measure_;
};

}  // namespace

Result<std::string> bench_workload(const catalogue::Catalogue& catalogue,
                                   const BenchRequest& request) {
  if (request.workload.empty()) {
    const bool own = catalogue.find("workload", request.kind) != nullptr;
    return own ? request.kind : std::string(usual_workload);
  }
  if (catalogue.find("workload", request.workload) != nullptr) return request.workload;
  return fail(ExitCode::bad_input,
              fmt::format("there is no workload '{}'{}", request.workload,
                          suggestion(request.workload, names_of(catalogue, "workload"))));
}

Result<std::string> bench_experiment(const catalogue::Catalogue& catalogue,
                                     const config::Environment& environment,
                                     const BenchRequest& request) {
  if (auto checked = check_kind(catalogue, request); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto workload = bench_workload(catalogue, request);
  if (!workload) return tl::unexpected(workload.error());
  const catalogue::PluginInfo& plugin = *catalogue.find("workload", *workload);
  if (std::ranges::count(plugin.uses, request.kind) == 0) {
    return fail(ExitCode::bad_input,
                fmt::format("the workload {} has no {}", *workload, request.kind),
                fmt::format("it uses {}", join(plugin.uses, ", ")));
  }
  return Writer(environment, plugin, request).write();
}

}  // namespace assay::cli
