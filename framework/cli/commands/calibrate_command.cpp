#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/output.h"
#include "base/text.h"
#include "cli/ceilings.h"
#include "cli/commands/commands.h"
#include "cli/show/progress.h"
#include "cli/show/render.h"
#include "config/vocabulary.h"
#include "expression/expression.h"
#include "report/document/markdown.h"
#include "report/spec/ceiling_names.h"
#include "run/cases/machine.h"
#include "run/plugins/compiled_options.h"
#include "run/schedule/runner.h"

namespace assay::cli {

namespace {

const std::vector<std::string> things = {"copy", "matmul", "launch", "all_reduce"};

Usage calibrate_usage() {
  Usage usage{
      "calibrate",
      "[copy|matmul|launch|all_reduce]…",
      "Measures this machine's ceilings: copy bandwidth, matrix product rates, launch latency and\n"
      "collective bandwidth. It runs the experiments calibrate_*.yaml as `assay run` does and\n"
      "prints the ceilings. Reports show results as shares of their machine's newest ceilings.\n"
      "On a CPU the sizes are small. Exit codes are those of `assay run`: 0 all measured; 1 a "
      "case\n"
      "failed; 2 wrong input; 3 this machine lacks something; 4 results cannot be read or written.",
      "assay calibrate\n"
      "  assay calibrate matmul --set dtype=[bf16] --set m=[4096, 8192]\n"
      "  assay calibrate --show",
      po::options_description("Options"),
      {}};
  add_experiment_options(usage.options);
  add_results_option(usage.options);
  usage.options.add_options()("show", po::bool_switch(),
                              "print this machine's stored ceilings and measure nothing")(
      "thing", po::value<std::vector<std::string>>()->value_name("WHAT"),
      "what to measure; the same as the argument");
  usage.positions.add("thing", -1);
  return usage;
}

struct Calibration {
  config::Override given;  // the part of the command line that applies to this experiment
  config::Experiment experiment;
  config::Plan plan;
};

class CeilingsPlanner {
 public:
  CeilingsPlanner(const Context& context, config::Override given, std::vector<std::string> asked)
      : context_(context),
        given_(std::move(given)),
        asked_(std::move(asked)),
        machine_(run::probe_machine()) {
    const bool kept_off =
        std::any_of(given_.settings.begin(), given_.settings.end(), [](const std::string& setting) {
          return config::name_of_setting(setting) == "device" && setting.ends_with("cpu");
        });
    on_gpu_ = context.catalogue.uses_cuda() && !machine_.gpus.empty() && !kept_off;
  }

  Result<std::vector<Calibration>> plan() {
    std::vector<Calibration> planned;
    for (const std::string& thing : asked_) {
      if (lacks_gpus(thing)) {
        print_error("{}: left out, it needs two GPUs and this machine has one\n", thing);
        continue;
      }
      auto calibration = read(thing);
      if (!calibration) return tl::unexpected(calibration.error());
      planned.push_back(std::move(*calibration));
    }
    return planned;
  }

 private:
  bool is_set(const std::string& name) const {
    return std::any_of(
        given_.settings.begin(), given_.settings.end(),
        [&](const std::string& setting) { return config::name_of_setting(setting) == name; });
  }

  bool lacks_gpus(const std::string& thing) const {
    return thing == "all_reduce" && on_gpu_ && machine_.gpus.size() == 1 && !is_set("world_size");
  }

  Result<Calibration> read(const std::string& thing) {
    const auto file = context_.installation.experiments() / ("calibrate_" + thing + ".yaml");
    const std::string workload = thing == "all_reduce" ? "collective" : thing;
    config::Override given;
    for (const std::string& setting : given_.settings) {
      if (applies_to(workload,
                     [&](const auto& known) { return known(config::name_of_setting(setting)); })) {
        given.settings.push_back(setting);
      }
    }
    for (const std::string& filter : given_.filters) {
      if (applies_to(workload, [&](const auto& known) { return filter_knows(filter, known); })) {
        given.filters.push_back(filter);
      }
    }
    suit_machine(thing, given);
    auto experiment = config::read_experiment(file.string(), context_.environment(), given);
    if (!experiment) return tl::unexpected(experiment.error());
    auto plan = config::expand(*experiment);
    if (!plan) return tl::unexpected(plan.error());
    return Calibration{std::move(given), std::move(*experiment), std::move(*plan)};
  }

  // An override applies to the experiments that know its names. One that none knows applies to all,
  // so that reading them reports it.
  template <class KnowsIt>
  bool applies_to(const std::string& workload, const KnowsIt& knows_it) const {
    const auto knows = [&](const std::string& name) {
      const catalogue::PluginInfo* plugin = context_.catalogue.find("workload", name);
      if (plugin == nullptr) return false;
      const std::vector<std::string> names =
          config::Vocabulary(context_.catalogue, *plugin).names(true);
      return knows_it([&](const std::string& wanted) {
        return wanted == "measure.passes" || wanted == "limits.cases" ||
               std::find(names.begin(), names.end(), wanted) != names.end();
      });
    };
    if (knows(workload)) return true;
    return std::none_of(asked_.begin(), asked_.end(), [&](const std::string& thing) {
      return knows(thing == "all_reduce" ? "collective" : thing);
    });
  }

  template <class Known>
  static bool filter_knows(const std::string& filter, const Known& known) {
    const auto expression = Expression::compile(filter);
    if (!expression) return true;
    return std::all_of(expression->uses().begin(), expression->uses().end(),
                       [&](const auto& use) { return known(use.name) || known(use.beside); });
  }

  // Keeps a CPU to sizes that do not take hours and to what it supports.
  void suit_machine(const std::string& thing, config::Override& given) const {
    const auto keep = [&](const char* axis, const char* filter) {
      if (!on_gpu_ && !is_set(axis)) given.filters.emplace_back(filter);
    };
    if (thing == "copy") keep("size", "size <= 134217728");
    if (thing == "matmul") {
      keep("m", "m <= 1024");
      keep("dtype", "dtype != tf32");
    }
    if (thing == "launch") {
      keep("operation", "operation == libtorch");
      keep("measure.clock", "measure.clock == wall");
    }
    if (thing == "all_reduce") {
      keep("size", "size <= 16777216");
      if (on_gpu_ && !is_set("world_size")) {
        given.settings.push_back(fmt::format("world_size={}", machine_.gpus.size()));
      }
    }
  }

  const Context& context_;
  config::Override given_;
  std::vector<std::string> asked_;
  run::Machine machine_;
  bool on_gpu_ = false;
};

std::vector<report::Ceiling> in_order(std::vector<report::Ceiling> ceilings) {
  std::vector<std::string> order = {"copy"};
  for (const std::string& name : report::ceiling_names("FLOP/s")) order.push_back(name);
  for (const char* operation : {"launch_kernel", "launch_libtorch"}) {
    for (const char* how : {"", "_in_a_row", "_in_a_row_graph"}) {
      order.push_back(std::string(operation) + how);
    }
  }
  for (const std::string& name : report::ceiling_names("byte/s")) order.push_back(name);
  const auto place = [&](const report::Ceiling& ceiling) {
    return std::find(order.begin(), order.end(), ceiling.name) - order.begin();
  };
  std::stable_sort(ceilings.begin(), ceilings.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return ceilings;
}

std::string label(const report::Ceiling& ceiling) {
  if (ceiling.backend.empty()) return ceiling.name;
  return fmt::format("{}, {} ranks, {}", ceiling.name, ceiling.ranks, ceiling.backend);
}

Result<void> print_ceilings(store::Database& database) {
  const auto machine = run::to_json(run::probe_machine());
  const auto ceilings = ceilings_of_machine(database, machine);
  if (!ceilings) return tl::unexpected(ceilings.error());
  if (ceilings->empty()) {
    return fail(ExitCode::bad_input, "no ceilings of this machine are stored",
                "`assay calibrate` measures them");
  }
  report::TableSection table;
  table.columns = {{"ceiling", {}, 'l'},
                   {"device", {}, 'l'},
                   {"value", {}, 'r'},
                   {"derived from", {}, 'l'},
                   {"run", {}, 'l'}};
  for (const report::Ceiling& ceiling : in_order(ceilings->all())) {
    const std::string cells[] = {label(ceiling), ceiling.device, value_with_unit(ceiling),
                                 ceiling.formula, ceiling.run};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      table.columns[i].cells.push_back(cells[i]);
    }
  }
  report::Document document;
  document.sections.push_back(std::move(table));
  print_out("{}\n", report::to_terminal(document, 0));
  return {};
}

struct Measured {
  bool complete = false;  // every case is ok, skipped or unsupported
  bool interrupted = false;
};

Result<Measured> measure(const Context& context, const po::variables_map& values,
                         const Calibration& calibration, store::Database& database) {
  run::RunRequest request{context.installation, context.catalogue, calibration.experiment,
                          calibration.plan, results_folder(values)};
  request.build_compiled = [&](const auto& needs, const auto& stop) {
    return run::build_compiled(context.installation, needs, stop);
  };
  for (const auto& setting : calibration.given.settings) {
    request.overrides.push_back("--set " + setting);
  }
  for (const auto& filter : calibration.given.filters) {
    request.overrides.push_back("--filter " + filter);
  }
  Progress progress = Progress::of_stderr();
  const auto end = run::run_experiment(request, database, progress);
  if (!end) {
    progress.close();
    return tl::unexpected(end.error());
  }
  const auto rendered =
      render_report(context, &database, results_folder(values), ReportRequest{{end->run}});
  progress.close();
  if (!rendered) return tl::unexpected(rendered.error());
  print_out("report: {}\n", rendered->file.string());
  if (!rendered->problems.empty()) {
    return tl::unexpected(Error{ExitCode::bad_input, rendered->problems});
  }
  const bool fine =
      std::all_of(end->outcomes.begin(), end->outcomes.end(), [](const auto& counted) {
        return counted.first == Outcome::ok || counted.first == Outcome::skipped ||
               counted.first == Outcome::unsupported;
      });
  return Measured{fine && !end->interrupted, end->interrupted};
}

}  // namespace

Result<ExitCode> calibrate_command(const Arguments& arguments) {
  const auto values = parse(calibrate_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  std::vector<std::string> asked = texts(**values, "thing");
  for (const std::string& thing : asked) {
    if (std::find(things.begin(), things.end(), thing) != things.end()) continue;
    return fail(ExitCode::bad_input,
                fmt::format("'{}' cannot be calibrated{}", thing, suggestion(thing, things)));
  }
  if (asked.empty()) asked = things;
  if ((**values)["show"].as<bool>()) {
    auto database = open_database(**values, store::Access::read_only);
    if (!database) return tl::unexpected(database.error());
    const auto printed = print_ceilings(*database);
    return printed ? Result<ExitCode>(ExitCode::ok) : tl::unexpected(printed.error());
  }
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const auto planned = CeilingsPlanner(*context, overrides(**values), std::move(asked)).plan();
  if (!planned) return tl::unexpected(planned.error());
  if (planned->empty()) {
    return fail(ExitCode::machine_lacks, "nothing is left to calibrate: all_reduce needs two GPUs",
                "add `--device cpu` to measure collectives between two processes on the CPU");
  }
  auto database = open_database(**values, store::Access::read_write);
  if (!database) return tl::unexpected(database.error());
  ExitCode code = ExitCode::ok;
  for (const Calibration& calibration : *planned) {
    const auto measured = measure(*context, **values, calibration, *database);
    if (!measured) return tl::unexpected(measured.error());
    if (!measured->complete) code = ExitCode::some_case_not_ok;
    if (measured->interrupted) break;
  }
  if (const auto printed = print_ceilings(*database); !printed) {
    return code == ExitCode::ok ? tl::unexpected(printed.error()) : Result<ExitCode>(code);
  }
  return code;
}

}  // namespace assay::cli
