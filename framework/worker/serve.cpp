#include "worker/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/idle_threads.h"
#include "base/text.h"
#include "catalogue/listing.h"
#include "measure/device.h"
#include "store/records/json.h"
#include "training/counted_backend.h"
#include "wire/channel.h"
#include "wire/turn_waiter.h"
#include "worker/case/case_runner.h"
#include "worker/case/exchange_check.h"
#include "worker/pass/memory_floor.h"
#include "worker/process/guards.h"
#include "worker/process/state_watch.h"

namespace assay::worker {

namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

// Takes a variable out of the environment and of the memory that the system shows of it
// (/proc/self/environ): plugins need not know it.
std::string secret_variable(const char* name) {
  char* const text = std::getenv(name);
  if (text == nullptr) return {};
  std::string secret = text;
  std::fill_n(text, secret.size(), '\0');
  ::unsetenv(name);
  return secret;
}

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.text());
  return static_cast<int>(error.exit_code);
}

void run_request(PluginLoader& loader, ProcessGroups& groups, const Placement& placement,
                 wire::Channel& channel, const SharedCode& shared,
                 const wire::CaseRequest& request) {
  store::CaseFacts facts;
  std::vector<store::Artefact> artefacts;
  wire::TurnWaiter turns(channel, request.ordinal, [] { await_idle_threads(); });
  AwaitTurn await_turn;
  if (request.takes_turns) await_turn = std::bind_front(&wire::TurnWaiter::await, &turns);
  // Send errors are ignored: a lost host shows at the next receive().
  const CaseSink sink = {
      [&](const std::string& doing) {
        static_cast<void>(channel.send(wire::to_json(wire::Progress{request.ordinal, doing})));
      },
      [&](store::Series series) {
        static_cast<void>(
            channel.send(wire::to_json(wire::Measured{request.ordinal, std::move(series)})));
      },
      facts, artefacts, std::move(await_turn)};
  const Status status = request.exchanged.empty()
                            ? run_case(shared, loader, groups, placement, request, sink)
                            : verify_exchanges(loader, placement, request, sink);
  if (const std::string how = shared.tampered(); !how.empty()) {
    facts.left_behind[store::tampered_mark] =
        fmt::format("{}, by {}", how, plugins_in_words(request.parameters));
  }
  if (descendants_are_left()) {
    facts.left_behind["processes"] =
        fmt::format("processes that {} had started still ran; they were ended with their worker",
                    plugins_in_words(request.parameters));
  }
  std::fflush(nullptr);  // output so far belongs to this case
  static_cast<void>(channel.send(wire::to_json(wire::CaseDone{
      request.ordinal, status.outcome, status.reason, std::move(facts), std::move(artefacts)})));
}

}  // namespace

int serve() {
  const Placement placement = placement_from_environment();
  auto channel = wire::connect(variable(wire::control_variable));
  if (!channel) return complain(channel.error());
  const Guards guards(*channel);
  // Line buffering keeps the last lines of a process that dies.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  auto versions = store::parameters_from_json(measure::versions());
  if (!versions) return complain(versions.error());
  versions->insert_or_assign("fingerprint", ASSAY_BUILD_FINGERPRINT);
  const std::string token = secret_variable(wire::token_variable);
  const wire::Hello hello = {token, placement.rank, static_cast<int>(::getpid()),
                             std::move(*versions)};
  if (const auto sent = channel->send(wire::to_json(hello)); !sent) return complain(sent.error());
  channel->sign_with(token);
  training::tell_of_collectives(Guards::note_collective);

  const SharedCode shared;
  PluginLoader loader;
  ProcessGroups groups(placement);
  while (true) {
    const auto message = channel->receive();
    if (!message) return complain(message.error());
    if (!*message) return 0;
    const auto request = wire::case_request_from_json(**message);
    if (!request) return complain(request.error());
    run_request(loader, groups, placement, *channel, shared, *request);
  }
}

int write_catalogue(const std::filesystem::path& output, const std::filesystem::path& folder,
                    const std::vector<std::filesystem::path>& more_files) {
  PluginLoader loader;
  std::vector<std::filesystem::path> files = plugin_files(folder);
  files.insert(files.end(), more_files.begin(), more_files.end());
  std::vector<catalogue::PluginInfo> plugins;
  Error error{ExitCode::machine_lacks, {}};
  const auto note = [&](const Error& more) {
    error.diagnostics.insert(error.diagnostics.end(), more.diagnostics.begin(),
                             more.diagnostics.end());
  };
  const auto looked_at = catalogue::looked_at_beside(output);
  for (const std::filesystem::path& file : files) {
    static_cast<void>(write_file(looked_at.string(), file.string()));
    const auto library = loader.load(file);
    auto described = library ? describe(**library, file) : tl::unexpected(library.error());
    if (!described) {
      note(described.error());
      continue;
    }
    plugins.insert(plugins.end(), described->begin(), described->end());
  }
  std::error_code ignored;
  std::filesystem::remove(looked_at, ignored);
  auto catalogue = catalogue::assemble(ASSAY_BUILD_FINGERPRINT, std::move(plugins));
  if (!catalogue) note(catalogue.error());
  if (!error.diagnostics.empty()) return complain(error);
  catalogue->versions = measure::versions();
  const auto written = write_file(output.string(), catalogue::to_json(*catalogue).dump(1));
  return written ? 0 : complain(written.error());
}

}  // namespace assay::worker
