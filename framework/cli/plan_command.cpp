#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "run/machine.h"
#include "run/resolve.h"
#include "run/runner.h"

namespace assay::cli {

namespace {

Usage usage() {
  Usage usage{
      "plan",
      "FILE",
      "Shows every case of an experiment with the memory it needs by estimate, and what would be "
      "skipped on this machine and why. Nothing is run.",
      "assay plan experiments/model_timing.yaml --filter 'model == small'",
      po::options_description("Options"),
      {}};
  add_experiment_options(usage.options);
  usage.options.add_options()("experiment-file", po::value<std::string>()->value_name("FILE"),
                              "the experiment; the same as the argument");
  usage.positions.add("experiment-file", 1);
  return usage;
}

// What a memory estimate is held against: the GPU's memory where the case runs on one.
double memory_limit(const run::Machine& machine, const run::ResolvedCase& resolved) {
  const Value& device = resolved.request.parameters.at("device");
  const bool cuda = to_text(device) == "cuda" && !machine.gpus.empty();
  return static_cast<double>(cuda ? machine.gpus[0].memory_bytes : machine.memory_bytes);
}

void print_plan(const run::Surroundings& around, const config::Plan& plan) {
  std::string page;
  std::size_t skipped = 0;
  std::size_t large = 0;
  for (std::size_t index = 0; index < plan.size(); ++index) {
    const run::ResolvedCase resolved =
        run::resolve(around, static_cast<std::int64_t>(index), plan.parameters(index));
    const auto memory = run::estimate_memory(around, resolved);
    page += fmt::format("{:>6}  {:>11}  {}", index + 1, memory ? human_size(*memory) : "-",
                        run::describe_case(plan, index));
    if (resolved.skipped) {
      page += "  [skipped: " + *resolved.skipped + "]";
      ++skipped;
    } else if (memory && *memory > memory_limit(around.machine, resolved)) {
      page += "  [may not fit]";
      ++large;
    }
    page += '\n';
    if (page.size() > 1u << 16) {
      std::fwrite(page.data(), 1, page.size(), stdout);
      page.clear();
    }
  }
  page += fmt::format("{} cases of {} passes each ({}); {} would be skipped here, {} may not fit\n",
                      plan.size(), around.experiment.passes.size(),
                      join(around.experiment.passes, ", "), skipped, large);
  std::fwrite(page.data(), 1, page.size(), stdout);
}

}  // namespace

Result<ExitCode> plan_command(const Arguments& arguments) {
  const auto values = parse(usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string file = text_or(**values, "experiment-file", "");
  if (file.empty()) return fail(ExitCode::bad_input, "no experiment was named");
  const auto session = open_session(texts(**values, "plugin"));
  if (!session) return tl::unexpected(session.error());
  const auto experiment =
      config::read_experiment(file, session->environment(), overrides(**values));
  if (!experiment) return tl::unexpected(experiment.error());
  const auto plan = config::expand(*experiment);
  if (!plan) return tl::unexpected(plan.error());
  const run::Machine machine = run::probe_machine();
  print_plan({session->catalogue, *experiment, machine, run::is_cuda_build(session->catalogue)},
             *plan);
  return ExitCode::ok;
}

}  // namespace assay::cli
