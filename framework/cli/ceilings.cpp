#include "cli/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/output.h"
#include "cli/context.h"
#include "store/exchange/import.h"
#include "store/records/suite.h"

namespace assay::cli {

namespace {

constexpr std::string_view calibration_prefix = "calibrate_";

std::vector<std::string> gpu_names(const nlohmann::json& machine) {
  std::vector<std::string> names;
  if (!machine.is_object() || !machine.contains("gpus")) return names;
  for (const nlohmann::json& gpu : machine["gpus"]) {
    if (gpu.is_object()) names.push_back(gpu.value("name", ""));
  }
  return names;
}

bool same_machine(const nlohmann::json& a, const nlohmann::json& b) {
  if (!a.is_object() || !b.is_object()) return false;
  const auto both_say = [&](const char* name) {
    return a.value(name, nlohmann::json()) == b.value(name, nlohmann::json());
  };
  const bool named = !a.value("host", "").empty();
  return named && both_say("host") && both_say("cpu") && both_say("cores") &&
         gpu_names(a) == gpu_names(b);
}

Result<store::Run> named_run(store::Database* database, const std::string& name) {
  if (store::is_run_file(name)) return store::import_file(name);
  if (database == nullptr) {
    return fail(ExitCode::bad_input, fmt::format("there is no run '{}'", name));
  }
  const auto known = run_name(*database, name);
  if (!known) return tl::unexpected(known.error());
  return database->load_run(*known);
}

bool is_calibration(const std::string& experiment) {
  return experiment.starts_with(calibration_prefix);
}

bool has_calibrations(const store::RunInfo& info) {
  if (is_calibration(info.experiment)) return true;
  const auto suite = store::suite_of(info);
  return suite && std::ranges::any_of(suite->chapters, [](const store::ChapterRecord& chapter) {
           return is_calibration(chapter.experiment);
         });
}

// The run, or the chapters of a suite that calibrate.
std::vector<store::Run> calibrations_in(const store::Run& run) {
  const auto suite = store::suite_of(run.info);
  if (!suite) return {run};
  std::vector<store::Run> calibrations;
  for (const store::ChapterRecord& chapter : suite->chapters) {
    if (is_calibration(chapter.experiment)) {
      calibrations.push_back(store::chapter_run(run, chapter));
    }
  }
  return calibrations;
}

}  // namespace

Result<report::Ceilings> ceilings_of_machine(store::Database& database,
                                             const nlohmann::json& machine) {
  const auto runs = database.runs();
  if (!runs) return tl::unexpected(runs.error());
  // The first ceiling of a name counts, and `runs` begins with the newest.
  report::Ceilings ceilings;
  for (const bool narrowed : {false, true}) {
    for (const store::RunSummary& summary : *runs) {
      const store::RunInfo& info = summary.info;
      if (!same_machine(info.first.machine, machine) || !has_calibrations(info)) continue;
      const bool suite = !is_calibration(info.experiment);
      if (!suite && info.first.overrides.empty() == narrowed) continue;
      const auto run = database.load_run(info.name);
      if (!run) return tl::unexpected(run.error());
      for (const store::Run& calibration : calibrations_in(*run)) {
        if (calibration.info.first.overrides.empty() != narrowed) ceilings.add(calibration);
      }
    }
  }
  return ceilings;
}

Result<report::Ceilings> ceilings_named(store::Database* database,
                                        const std::vector<std::string>& names) {
  report::Ceilings ceilings;
  for (const std::string& name : names) {
    const auto run = named_run(database, name);
    if (!run) return tl::unexpected(run.error());
    report::Ceilings own;
    for (const store::Run& calibration : calibrations_in(*run)) own.add(calibration);
    if (own.empty()) {
      return fail(ExitCode::bad_input, fmt::format("'{}' has measured no ceiling", name),
                  "name a run that `assay calibrate` made, or an export of one");
    }
    for (const store::Run& calibration : calibrations_in(*run)) ceilings.add(calibration);
  }
  return ceilings;
}

namespace {

// A narrowed calibration may have measured nothing that fills the device.
bool fills_the_device(const report::Ceiling& ceiling) {
  const bool on_gpu = ceiling.device == "cuda";
  constexpr std::int64_t mebibyte = 1 << 20;
  if (ceiling.name == "copy") return ceiling.largest >= (on_gpu ? 1024 : 128) * mebibyte;
  return ceiling.largest >= (on_gpu ? 8192 : 1024);
}

}  // namespace

std::vector<run::DeviceCeilings> device_ceilings(const report::Ceilings& ceilings) {
  std::map<std::string, run::DeviceCeilings> devices;
  std::map<std::string, std::set<std::string>> products;  // by device, that count
  std::set<std::string> unknown;                          // devices with a product that does not
  for (const report::Ceiling& ceiling : ceilings.all()) {
    const bool is_product = ceiling.name.starts_with("matmul_");
    if (!is_product && ceiling.name != "copy") continue;
    if (ceiling.marked || !fills_the_device(ceiling)) {
      if (is_product) unknown.insert(ceiling.device);
      continue;
    }
    if (is_product) products[ceiling.device].insert(ceiling.name);
    run::DeviceCeilings& device = devices[ceiling.device];
    device.device = ceiling.device;
    device.run = ceiling.run;
    double& most = is_product ? device.flops_per_s : device.bytes_per_s;
    most = std::max(most, ceiling.value);
  }
  std::vector<run::DeviceCeilings> known;
  for (auto& [name, device] : devices) {
    const std::set<std::string>& counted = products[name];
    const bool has_fastest = counted.contains("matmul_fp32") && counted.contains("matmul_bf16");
    if (unknown.contains(name) || !has_fastest) device.flops_per_s = 0;
    known.push_back(std::move(device));
  }
  return known;
}

std::vector<run::DeviceCeilings> device_ceilings_if_readable(store::Database& database,
                                                             const nlohmann::json& machine) {
  const auto ceilings = ceilings_of_machine(database, machine);
  if (ceilings) return device_ceilings(*ceilings);
  print_error("no time is judged by this machine's ceilings: {}\n", ceilings.error().text());
  return {};
}

}  // namespace assay::cli
