#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "health/judge.h"
#include "health/summary.h"
#include "run/cases/machine.h"
#include "run/plugins/host_catalogue.h"
#include "run/plugins/plugin_build.h"
#include "run/plugins/plugin_source.h"
#include "run/process/process.h"

namespace assay::cli {

namespace {

Usage doctor_usage() {
  return {"doctor",
          "",
          "Says what this machine and this installation have, what is missing, and how to get it.",
          "assay doctor",
          po::options_description("Options"),
          {}};
}

class Checkup {
 public:
  void good(std::string_view what, const std::string& found) {
    print_out("ok       {:<18} {}\n", what, found);
  }
  void absent(std::string_view what, const std::string& found, const std::string& remedy) {
    print_out("absent   {:<18} {}; {}\n", what, found, remedy);
  }
  void unfit(std::string_view what, const std::string& found) {
    print_out("unfit    {:<18} {}\n", what, found);
  }
  void broken(std::string_view what, const std::string& found, const std::string& remedy) {
    print_out("missing  {:<18} {}; {}\n", what, found, remedy);
    healthy_ = false;
  }
  bool healthy() const { return healthy_; }

 private:
  bool healthy_ = true;
};

std::optional<std::string> first_line_of(const std::vector<std::string>& words) {
  run::Process::Command command;
  command.arguments = words;
  const auto done = run::capture(command);
  if (!done || !done->ok()) return {};
  return split(done->output + done->errors, '\n').front();
}

void check_program(Checkup& checkup, const std::string& program, const std::string& argument,
                   const std::string& purpose, const std::string& remedy) {
  if (const auto line = first_line_of({program, argument})) {
    checkup.good(program, *line);
  } else {
    checkup.absent(program, "not found: " + purpose, remedy);
  }
}

std::string in_unit(const std::optional<double>& figure, double unit, std::string_view name) {
  return figure ? fmt::format("{:.0f} {}", *figure / unit, name) : std::string();
}

std::string described(const health::GpuReading& gpu) {
  std::vector<std::string> parts = {
      in_unit(gpu.sm_clock_hz, 1e6, "MHz"), in_unit(gpu.memory_clock_hz, 1e6, "MHz memory"),
      in_unit(gpu.temperature_c, 1, "°C"), in_unit(gpu.power_w, 1, "W"),
      in_unit(gpu.utilisation, 0.01, "% busy")};
  std::erase(parts, "");
  return parts.empty() ? "nothing can be read" : join(parts, ", ");
}

std::string described(const health::CpuSource& cpus, const health::Observation& observation) {
  const health::CpuWork work = health::cpu_work(observation);
  std::vector<std::string> parts;
  if (work.others_cores) {
    parts.push_back(fmt::format("others use {:.2f} of {} cores", *work.others_cores, cpus.cores()));
  }
  const auto& cpu = observation.readings.back().cpu;
  if (cpu && cpu->load) parts.push_back(fmt::format("load {:.2f}", *cpu->load));
  if (cpu && cpu->highest_hz) {
    parts.push_back(
        fmt::format("{:.2f} to {:.2f} GHz", *cpu->lowest_hz / 1e9, *cpu->highest_hz / 1e9));
  }
  const std::string governor = cpus.governor();
  if (!governor.empty()) parts.push_back("frequency governor " + governor);
  if (governor == "powersave") parts.back() += ", which may begin with low clocks";
  return parts.empty() ? "nothing can be read" : join(parts, ", ");
}

// Watches the machine for a moment while assay runs no case.
void check_health(Checkup& checkup, health::GpuSource& gpus, health::CpuSource& cpus) {
  constexpr std::chrono::milliseconds moment(600);
  health::Needs needs;
  needs.processes = 0;
  needs.cores = needs.cores_there = cpus.cores();
  for (std::size_t gpu = 0; gpu < gpus.gpus().size(); ++gpu) {
    needs.devices.push_back(static_cast<int>(gpu));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto passed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  health::Observation observation;
  for (int i = 0; i < 2; ++i) {
    if (i > 0) std::this_thread::sleep_for(moment);
    health::Reading reading;
    reading.time_s = passed_s();
    gpus.read(health::Depth::thorough, needs.devices, reading);
    cpus.read(health::Depth::thorough, {}, reading);
    observation.readings.push_back(std::move(reading));
  }
  observation.seconds = passed_s();
  for (const health::GpuReading& gpu : observation.readings.back().gpus) {
    checkup.good(fmt::format("health of GPU {}", gpu.device), described(gpu));
  }
  if (!gpus.problem().empty()) {
    checkup.absent("health of GPUs", gpus.problem(), "cases are measured without it");
  }
  if (cpus.problem().empty()) {
    checkup.good("health of CPU", described(cpus, observation));
  } else {
    checkup.absent("health of CPU", cpus.problem(), "cases are measured without it");
  }
  for (const store::Mark& mark : health::judge(observation, needs)) {
    checkup.unfit(mark.mark, mark.reason);
  }
}

void check_machine(Checkup& checkup, const health::GpuSource& gpus, const health::CpuSource& cpus) {
  const run::Machine machine = run::probe_machine(gpus, cpus);
  checkup.good("machine", fmt::format("{}, {} cores, {}, {}", machine.cpu, machine.cores,
                                      human_size(machine.memory_bytes), machine.system));
  for (const run::Gpu& gpu : machine.gpus) {
    checkup.good("GPU", fmt::format("{}, {}, compute capability {}, driver {}", gpu.name,
                                    human_size(gpu.memory_bytes), gpu.compute_capability,
                                    machine.gpu_driver));
  }
  if (machine.gpus.empty()) {
    checkup.absent("GPU", machine.gpu_problem,
                   "experiments run on the CPU; cases that ask for CUDA are skipped");
  }
}

// A folder of libraries that the build found and that is no longer there: assay links LibTorch
// where it was, in the cache of tools/setup, and does not copy it.
std::optional<std::string> folder_gone(const run::Installation& installation) {
  const auto build = run::read_plugin_build(installation);
  if (!build) return std::nullopt;
  std::error_code ignored;
  for (const std::string& folder : build->system_includes) {
    if (!std::filesystem::is_directory(folder, ignored)) return folder;
  }
  return std::nullopt;
}

void check_build(Checkup& checkup, const run::Installation& installation) {
  std::error_code ignored;
  if (!std::filesystem::exists(installation.worker_library, ignored)) {
    return checkup.broken("worker library", installation.worker_library.string() + " is not there",
                          "run tools/setup and build with LibTorch");
  }
  if (const auto gone = folder_gone(installation)) {
    return checkup.broken(
        "LibTorch", *gone + ", which this assay was built with, is gone",
        fmt::format(
            "`ASSAY_TORCH={} tools/setup` in a clone of assay fetches it to the same cache; "
            "an installation shares it",
            gone->find("-cpu") != std::string::npos ? "cpu" : "cuda"));
  }
  const auto catalogue = run::load_catalogue(installation);
  if (!catalogue) {
    return checkup.broken(
        "LibTorch", "the worker cannot start: " + catalogue.error().text(),
        "put LibTorch's lib folder into LD_LIBRARY_PATH, or build again with tools/assay");
  }
  checkup.good("build", catalogue->fingerprint);
  for (const auto& [name, version] : catalogue->versions.items()) {
    checkup.good(name, version.is_string() ? version.get<std::string>() : version.dump());
  }
  if (!catalogue->versions.contains("nccl")) {
    checkup.absent("nccl", "not in this build", "collectives between GPUs need the CUDA build");
  }
  checkup.good("plugins",
               fmt::format("{} in {}", catalogue->plugins.size(), installation.plugins.string()));
  checkup.good("configs", installation.configs().string());
}

void check_compiler(Checkup& checkup, std::string_view name, const std::string& path,
                    const std::string& purpose) {
  if (const auto line = first_line_of({path, "--version"})) {
    checkup.good(name, fmt::format("{} ({})", *line, path));
  } else {
    checkup.absent(name, fmt::format("{}, which built assay, cannot be run: {}", path, purpose),
                   "put it back, or build assay again with another compiler");
  }
}

// Checks the compilers that build plugins, which need not be those in PATH.
void check_compilers(Checkup& checkup, const run::Installation& installation) {
  const auto compilers = run::plugin_compilers(installation);
  if (!compilers) {
    const Diagnostic& problem = compilers.error().diagnostics.front();
    return checkup.absent("compilers", problem.message, problem.hint);
  }
  check_compiler(checkup, "c++", compilers->cpp, "plugins cannot be built");
  if (!compilers->cuda.empty()) {
    return check_compiler(checkup, "nvcc", compilers->cuda, "CUDA plugins cannot be built");
  }
  checkup.absent("nvcc", "this assay was built without it: CUDA plugins cannot be built",
                 "tools/setup fetches it where there is a GPU; then build assay again");
}

}  // namespace

Result<ExitCode> doctor_command(const Arguments& arguments) {
  const auto values = parse(doctor_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const auto installation = run::find_installation();
  if (!installation) return tl::unexpected(installation.error());
  Checkup checkup;
  health::GpuSource gpus(health::GpuSource::here());
  health::CpuSource cpus(health::CpuSource::here());
  check_machine(checkup, gpus, cpus);
  check_health(checkup, gpus, cpus);
  check_build(checkup, *installation);
  check_compilers(checkup, *installation);
  check_program(checkup, "gnuplot", "--version", "reports come without plots",
                "apt-get install gnuplot-nox");
  const char* python = std::getenv("ASSAY_PYTHON");
  check_program(checkup, python == nullptr ? "python3" : python, "--version",
                "external variants written in Python cannot run", "apt-get install python3");
  return checkup.healthy() ? ExitCode::ok : ExitCode::machine_lacks;
}

}  // namespace assay::cli
