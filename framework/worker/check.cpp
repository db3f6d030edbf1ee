#include "worker/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "conformance/check.h"
#include "measure/device.h"
#include "worker/process/guards.h"
#include "worker/process/plugin_loader.h"

namespace assay::worker {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Result<wire::CheckRequest> read_request(const std::string& text) {
  const auto json = parse_json(text);
  return json ? wire::check_request_from_json(*json) : tl::unexpected(json.error());
}

Result<at::Device> device_named(const std::string& name) {
  if (name != "cuda") return at::Device(at::kCPU);
  if (!measure::cuda_available()) {
    return fail(ExitCode::machine_lacks, "there is no CUDA device that this build can use",
                "`assay doctor` says what is missing");
  }
  return at::Device(at::kCUDA, 0);
}

Result<const PluginEntry*> find_plugin(PluginLoader& loader, const wire::CheckRequest& request) {
  for (const std::string& file : request.plugin_files) {
    if (const auto loaded = loader.load(file); !loaded) return tl::unexpected(loaded.error());
  }
  return loader.find(request.kind, request.name, request.options);
}

Result<void> run_checks(const wire::CheckRequest& request, std::FILE* output) {
  const auto device = device_named(request.device);
  if (!device) return tl::unexpected(device.error());
  measure::use_device(*device);
  PluginLoader loader;
  const auto entry = find_plugin(loader, request);
  if (!entry) return tl::unexpected(entry.error());

  const auto say = [&](const nlohmann::json& message) {
    const std::string line = dump(message) + "\n";
    std::fwrite(line.data(), 1, line.size(), output);
    std::fflush(output);
  };
  const auto suite = conformance::suite({**entry, request.options, *device});
  wire::CheckSuite titles;
  for (const auto& check : suite) titles.checks.push_back({check.name, check.sentence});
  say(wire::to_json(titles));
  for (std::size_t i = request.skip; i < suite.size(); ++i) {
    const auto& wanted = request.checks;
    const bool named = std::find(wanted.begin(), wanted.end(), suite[i].name) != wanted.end();
    if (!wanted.empty() && !named) continue;
    const auto result = conformance::run(suite[i], [&](const std::string& text) {
      say(wire::to_json(wire::CheckBegins{suite[i].name, text}));
    });
    say(wire::to_json(result));
    // A plugin that cannot be made cannot be checked further.
    if (i == 0 && result.failed > 0) break;
  }
  return {};
}

}  // namespace

int check(const std::filesystem::path& output, const std::string& request_text) {
  const auto complain = [](const Error& error) {
    fmt::print(stderr, "{}\n", error.text());
    return static_cast<int>(error.exit_code);
  };
  const auto request = read_request(request_text);
  if (!request) return complain(request.error());
  const File file(std::fopen(output.c_str(), "a"), std::fclose);
  if (!file) {
    fmt::print(stderr, "{} cannot be written\n", output.string());
    return static_cast<int>(ExitCode::machine_lacks);
  }
  const Guards guards = Guards::tracing(::fileno(file.get()));
  Result<void> done;
  const Status status = guarded([&] { done = run_checks(*request, file.get()); });
  if (!status.ok()) return complain({ExitCode::machine_lacks, {{{}, status.reason, {}}}});
  return done ? 0 : complain(done.error());
}

}  // namespace assay::worker
