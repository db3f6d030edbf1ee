#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/run_invocation.h"
#include "cli/suite_outlook.h"
#include "cli/time_by_counts.h"
#include "run/cases/machine.h"
#include "run/cases/memory_estimate.h"
#include "run/cases/resolve.h"
#include "run/external/permission.h"
#include "run/interleave/interleave_plan.h"
#include "run/plugins/compiled_options.h"
#include "run/schedule/runner.h"

namespace assay::cli {

namespace {

Usage plan_usage() {
  Usage usage{
      "plan",
      "FILE",
      "Lists every case of an experiment with its estimated memory, what would be skipped on this\n"
      "machine and why, and which cases take turns. It runs none of them. Of a suite it lists "
      "every\n"
      "chapter and the total of cases. The time is what earlier runs of the same cases took; "
      "cases\n"
      "that no run has measured take at least what they count over the ceilings of this machine\n"
      "that `assay calibrate` has measured.",
      "assay plan experiments/model_timing.yaml --filter 'model == small'",
      po::options_description("Options"),
      {}};
  add_experiment_options(usage.options);
  add_external_option(usage.options);
  add_results_option(usage.options);
  usage.options.add_options()("only", po::value<std::vector<std::string>>()->value_name("CHAPTER"),
                              "of a suite, only this chapter; may be repeated")(
      "experiment-file", po::value<std::string>()->value_name("FILE"),
      "the experiment or suite; the same as the argument");
  usage.positions.add("experiment-file", 1);
  return usage;
}

// What this machine does with a case. Cases share one where the parameters that decide are equal.
struct Outlook {
  std::optional<std::string> skipped;
  double memory_limit_bytes = 0;  // the GPU's memory where the case runs on one
  bool on_gpu = false;
};

// What else the list says of a case.
using Note = std::function<std::string(std::size_t index)>;

class Planner {
 public:
  Planner(const run::Installation& installation, const run::Surroundings& around,
          const config::Plan& plan, bool allow_external, Note note = {})
      : around_(around),
        plan_(plan),
        allow_external_(allow_external),
        note_(std::move(note)),
        estimator_(around),
        interleave_(around, plan, allow_external) {
    for (const catalogue::PluginInfo& plugin : around.catalogue.plugins) {
      if (plugin.external() || !plugin.devices.empty()) deciding_.insert(plugin.kind);
      if (catalogue::built_with(plugin.parameters).empty()) continue;
      if (auto why = run::cannot_build(installation, plugin)) {
        unbuildable_.emplace_back(&plugin, std::move(*why));
      }
    }
  }

  void print() {
    for (std::size_t index = 0; index < plan_.size(); ++index) {
      print_case(index);
      if (page_.size() > 1u << 16) flush();
    }
    page_ += fmt::format("{} of {} each ({}); {} would be skipped here, {} may not fit\n",
                         counted(plan_.size(), "case", "cases"),
                         counted(around_.experiment.passes.size(), "pass", "passes"),
                         join(around_.experiment.passes, ", "), skipped_, large_);
    print_groups();
    flush();
  }

 private:
  void print_case(std::size_t index) {
    const auto memory =
        estimator_.estimate([&](const std::string& name) { return plan_.get(index, name); });
    const Outlook& outlook = outlook_of(index);
    const auto skipped = outlook.skipped ? outlook.skipped : without_library(index);
    page_ += fmt::format("{:>6}  {:>11}  {}", index + 1, memory ? human_size(*memory) : "-",
                         plan_.describe(index));
    if (skipped) {
      page_ += "  [skipped: " + *skipped + "]";
      ++skipped_;
    } else if (memory && *memory > outlook.memory_limit_bytes) {
      page_ += fmt::format("  [may not fit: it needs {}, {} has {}]", human_size(*memory),
                           outlook.on_gpu ? "the GPU" : "this machine",
                           human_size(outlook.memory_limit_bytes));
      ++large_;
    }
    const auto& group = interleave_.members_with(index, [](std::size_t) { return true; });
    if (!group.empty()) {
      page_ += fmt::format("  [in turns, 1 of {}]", group.size());
      ++in_turns_;
    } else if (const std::string why = interleave_.why_apart(index); !why.empty() && !skipped) {
      page_ += "  [apart: " + why + "]";
    }
    if (note_) page_ += note_(index);
    page_ += '\n';
  }

  void print_groups() {
    const auto& groups = interleave_.groups().all();
    if (groups.empty()) return;
    std::set<std::string> axes;
    for (const run::InterleaveGroup& group : groups) axes.insert(group.axis);
    page_ += fmt::format("{} groups over {}: {} cases take turns, {} run apart\n", groups.size(),
                         join(std::vector<std::string>(axes.begin(), axes.end()), " and "),
                         in_turns_, interleaved_cases() - in_turns_);
  }

  std::size_t interleaved_cases() const {
    std::size_t count = 0;
    for (const run::InterleaveGroup& group : interleave_.groups().all()) {
      count += group.cases.size();
    }
    return count;
  }

  // Why the case's values of compiled options cannot be built here.
  std::optional<std::string> without_library(std::size_t index) {
    const auto value = [&](const std::string& name) { return plan_.get(index, name); };
    for (const auto& [plugin, reason] : unbuildable_) {
      if (to_text(plan_.get(index, plugin->kind)) != plugin->name) continue;
      const auto values = run::compiled_values(*plugin, value);
      if (values != catalogue::built_with(plugin->parameters)) return reason;
    }
    return {};
  }

  const Outlook& outlook_of(std::size_t index) {
    std::string deciding;
    for (const char* name :
         {"workload", "device", "backend", "measure.clock", "world_size", "nodes"}) {
      deciding += to_text(plan_.get(index, name)) + ' ';
    }
    for (const std::string& kind : deciding_) deciding += to_text(plan_.get(index, kind)) + ' ';
    const auto [entry, added] = outlooks_.try_emplace(std::move(deciding));
    if (added) {
      run::ResolvedCase resolved =
          run::resolve(around_, static_cast<std::int64_t>(index), plan_.parameters(index));
      run::require_permission(resolved, allow_external_);
      const bool cuda = to_text(resolved.request.parameters.at("device")) == "cuda" &&
                        !around_.machine.gpus.empty();
      entry->second = {resolved.skipped,
                       static_cast<double>(cuda ? around_.machine.gpus[0].memory_bytes
                                                : around_.machine.memory_bytes),
                       cuda};
    }
    return entry->second;
  }

  void flush() {
    print_out("{}", page_);
    page_.clear();
  }

  const run::Surroundings& around_;
  const config::Plan& plan_;
  bool allow_external_;
  Note note_;
  std::vector<std::pair<const catalogue::PluginInfo*, std::string>> unbuildable_;
  std::set<std::string> deciding_;  // kinds with external variants or ones bound to devices
  run::MemoryEstimator estimator_;
  run::InterleavePlan interleave_;
  std::map<std::string, Outlook> outlooks_;
  std::string page_;
  std::size_t skipped_ = 0;
  std::size_t large_ = 0;
  std::size_t in_turns_ = 0;
};

// "  [shared with norm_layer, warmup]"
std::string note_on_shared(const run::Work& work, const std::vector<run::ChapterPlan>& plans,
                           std::size_t chapter, std::size_t index) {
  std::vector<std::string> others;
  for (const std::size_t other : work.chapters_of(work.item_of(chapter, index))) {
    if (other != chapter) others.push_back(plans[other].name);
  }
  return others.empty() ? "" : "  [shared with " + join(others, ", ") + "]";
}

void print_suite(const Context& context, const run::Machine& machine, const PlannedSuite& suite,
                 const KnownTimes& times, bool allow_external) {
  const std::vector<run::ChapterPlan> plans = suite.chapter_plans();
  const run::Work work(context.catalogue, machine, allow_external, plans);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].chosen) continue;
    print_out("{}: {}\n", plans[i].name, plans[i].experiment.title);
    if (work.cannot(i)) {
      print_out("  left out: {}\n\n", *work.cannot(i));
      continue;
    }
    const run::Surroundings around = {context.catalogue, plans[i].experiment, machine,
                                      context.catalogue.uses_cuda()};
    Planner(context.installation, around, plans[i].plan, allow_external, [&](std::size_t index) {
      return note_on_shared(work, plans, i, index);
    }).print();
    print_out("\n");
  }
  print_out("{}", outlook_of(suite, work, times).text(suite.suite.name));
}

// Nothing is known where there is no database.
KnownTimes times_of(Result<store::Database>& database, const Context& context,
                    const run::Machine& machine) {
  if (database) return known_times(context.catalogue, *database, machine);
  return {[](const auto&) { return std::map<std::string, double>(); }};
}

std::optional<store::Run> newest_run(store::Database& database, const std::string& experiment) {
  const auto name = database.latest_run(experiment);
  if (!name || !*name) return std::nullopt;
  auto run = database.load_run(**name);
  return run ? std::optional(std::move(*run)) : std::nullopt;
}

}  // namespace

Result<ExitCode> plan_command(const Arguments& arguments) {
  const auto values = parse(plan_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string file = text_or(**values, "experiment-file", "");
  if (file.empty()) return fail(ExitCode::bad_input, "no experiment was named");
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const auto invocation = invocation_of_file(*context, **values, file);
  if (!invocation) return tl::unexpected(invocation.error());
  const bool allow_external = (**values)["allow-external"].as<bool>();
  const run::Machine machine = run::probe_machine();
  if (invocation->suite) {
    auto database = open_database(**values, store::Access::read_only);
    print_suite(*context, machine, *invocation->suite, times_of(database, *context, machine),
                allow_external);
    return ExitCode::ok;
  }
  const run::Surroundings around = {context->catalogue, invocation->experiment, machine,
                                    context->catalogue.uses_cuda()};
  Planner(context->installation, around, invocation->plan, allow_external).print();
  // A key takes some microseconds, and a plan this large takes days.
  constexpr std::size_t most_looked_up = 10'000;
  if (invocation->plan.size() <= most_looked_up) {
    const run::Work work(context->catalogue, machine, allow_external, invocation->experiment,
                         invocation->plan);
    auto database = open_database(**values, store::Access::read_only);
    const KnownTimes times = times_of(database, *context, machine);
    const TimeEstimate estimate = estimated_time(work, times, [&] {
      return database ? newest_run(*database, invocation->experiment.name) : std::nullopt;
    });
    print_out("{}", estimate.text());
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
