#include "run/node/rank_agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <list>
#include <memory>
#include <thread>

#include "base/clock_duration.h"
#include "base/files_below.h"
#include "base/json.h"
#include "base/text.h"
#include "run/cases/machine.h"
#include "run/node/agent_worker.h"
#include "run/node/base64.h"
#include "run/node/file_hashes.h"
#include "run/node/node.h"
#include "run/node/node_watch.h"
#include "run/process/loading.h"
#include "run/process/temporary_folder.h"
#include "wire/messages.h"

namespace assay::run {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t part_bytes = 8u << 20;  // of a file, in one message

nlohmann::json problem(std::string words) { return {{"problem", std::move(words)}}; }

class RankAgent {
 public:
  // Looks at its machine first: the host does not wait long for what a connection has to say.
  RankAgent(const Installation& installation, const EnginePlace& place)
      : installation_(installation), place_(place) {
    hashes_.of(installation_.worker_library.string());
  }

  Result<void> run(wire::Channel host, const std::string& token) {
    host_ = std::move(host);
    const auto guard = MemoryGuard::from_environment();
    if (!guard) return tl::unexpected(guard.error());
    if (auto sent = host_.send(wire::to_json(join(token))); !sent) return sent;
    while (true) {
      wait();
      if (readable(host_.descriptor())) {
        const auto alive = host_.read_available();
        for (;;) {
          const auto message = host_.next();
          if (!message) return tl::unexpected(message.error());
          if (!*message) break;
          take(**message);
        }
        if (!alive || !*alive) return farewell();  // the workers end with this object
      }
      if (host_.silent()) return farewell();
      for (AgentWorker& worker : workers_) worker.tell(host_);
      workers_.remove_if([](const AgentWorker& worker) { return worker.over(); });
    }
  }

 private:
  wire::Join join(const std::string& token) {
    const NodeIdentity node = this_node();
    wire::Join join;
    join.token = token;
    join.engine = place_.engine;
    join.rank = place_.rank;
    join.size = place_.size;
    join.local_rank = place_.local_rank;
    join.node = place_.node.empty() ? machine_.host : place_.node;
    join.boot_id = node.boot_id;
    join.network = node.network;
    join.address =
        place_.master_host.empty() || place_.rank != 0 ? host_.own_host() : place_.master_host;
    join.port = place_.rank == 0 ? place_.master_port : 0;
    join.pid = static_cast<int>(::getpid());
    join.folder = folder_.path().string();
    join.worker_sha256 = hashes_.of(installation_.worker_library.string());
    join.machine = to_json(machine_);
    for (const Gpu& gpu : machine_.gpus) join.gpus.push_back(gpu.uuid);
    return join;
  }

  void wait() {
    std::vector<pollfd> watched = {{host_.descriptor(), POLLIN, 0}};
    int limit_ms = 1000;  // to look whether the host is silent
    for (AgentWorker& worker : workers_) {
      const int next_ms = worker.guard_memory();
      if (next_ms >= 0) limit_ms = std::min(limit_ms, next_ms);
      worker.watch(watched);
    }
    ::poll(watched.data(), watched.size(), limit_ms);
  }

  void take(const nlohmann::json& message) {
    welcome_ = true;
    const std::string type = wire::message_type(message);
    const int number = integer_at<int>(message, "worker");
    if (type == "welcome") {
      const auto silence_s = integer_at(message, "silence_s");
      if (silence_s > 0) host_.set_silence_limit(std::chrono::seconds(silence_s));
    } else if (type == "start") {
      if (const auto start = wire::start_worker_from_json(message)) begin(*start);
    } else if (type == "kill") {
      if (AgentWorker* worker = find(number)) worker->kill();
    } else if (type == "forget") {
      forget(number);
    } else if (type == "remove") {
      remove(folder_of(number) / std::to_string(integer_at<int>(message, "case")));
    } else if (type == "unwatch") {
      if (watch_ != nullptr) watch_->drop(integer_at<int>(message, "watch"));
    } else if (type == "asked") {
      const auto asked = wire::asked_from_json(message);
      if (!asked) return;
      if (AgentWorker* worker = find(asked->worker)) worker->ask(*asked);
    } else if (type == "call") {
      nlohmann::json answer = answer_to(string_at(message, "what"), message);
      answer["type"] = "answer";
      answer["call"] = integer_at<int>(message, "call");
      static_cast<void>(host_.send(answer));
    }
  }

  Result<void> farewell() const {
    if (welcome_) return {};
    return fail(ExitCode::machine_lacks,
                fmt::format("the host turned rank {} of {} away", place_.rank, place_.size),
                fmt::format("the host says why; without a word, {} is not the host's",
                            wire::token_variable));
  }

  AgentWorker* find(int number) {
    for (AgentWorker& worker : workers_) {
      if (worker.number() == number) return &worker;
    }
    return nullptr;
  }

  // Below folder_: what the worker's cases leave.
  std::filesystem::path folder_of(int worker) const {
    return folder_.path() / std::to_string(worker);
  }

  void remove(const std::filesystem::path& folder) const {
    std::error_code ignored;
    if (!folder_.path().empty()) std::filesystem::remove_all(folder, ignored);
  }

  void forget(int number) {
    if (AgentWorker* worker = find(number)) worker->kill();
    remove(folder_of(number));
  }

  void begin(const wire::StartWorker& start) {
    Process::Command command;
    command.arguments = {installation_.executable.string(), "worker", "serve"};
    command.environment = start.environment;
    if (start.at_rendezvous && rendezvous_.open()) {
      command.passed.push_back(rendezvous_.number());
      command.environment[wire::rendezvous_variable] = std::to_string(rendezvous_.number());
    }
    auto guard = MemoryGuard::from_environment();
    auto worker =
        AgentWorker::start(start.worker, std::move(command), guard->shared_by(start.share));
    probe_ = {};
    if (start.at_rendezvous) rendezvous_.close();
    if (worker) {
      workers_.push_back(std::move(*worker));
      return;
    }
    static_cast<void>(
        host_.send(wire::to_json(wire::WorkerPrinted{start.worker, worker.error().text()})));
    static_cast<void>(
        host_.send(wire::to_json(wire::WorkerEnded{.worker = start.worker, .number = 127})));
  }

  nlohmann::json answer_to(const std::string& what, const nlohmann::json& message) {
    if (what == "clock") {
      return {{"now_s", monotonic_s()}};
    }
    if (what == "bind") return bind(string_at(message, "host"), integer_at<int>(message, "port"));
    if (what == "reach") return reach(string_at(message, "address"));
    if (what == "watch") {
      if (watch_ == nullptr) watch_ = std::make_unique<NodeWatch>();
      watch_->begin(message);
      return nlohmann::json::object();
    }
    if (what == "watched" && watch_ != nullptr) return watch_->end(message);
    if (what == "hash") return hash(string_at(message, "file"));
    if (what == "fetch") {
      return fetch(folder_of(integer_at<int>(message, "worker")), string_at(message, "file"),
                   integer_at(message, "offset"), integer_at(message, "limit"));
    }
    return problem("does not know the call '" + what + "'; is it of another build?");
  }

  // A second socket, which listens, lets the other ranks try whether they reach this one.
  nlohmann::json bind(const std::string& host, int port) {
    auto bound = wire::bind_port(host, port);
    if (!bound) return problem(bound.error().text());
    auto listener = wire::Listener::on(host, 0);
    if (!listener) return problem(listener.error().text());
    rendezvous_ = std::move(bound->socket);
    probe_ = std::move(*listener);
    return {{"port", bound->port}, {"probe", probe_.port()}};
  }

  static nlohmann::json reach(const std::string& address) {
    const auto channel = wire::connect(address);
    return channel ? nlohmann::json::object() : problem(channel.error().text());
  }

  nlohmann::json hash(const std::string& file) { return {{"sha256", hashes_.of(file)}}; }

  // Copies the file first: what a plugin has left may be a link, a pipe or still written to. Of a
  // file over the limit it tells the size alone.
  nlohmann::json fetch(const std::filesystem::path& folder, const std::string& file,
                       std::int64_t offset, std::int64_t limit) {
    if (folder_.path().empty()) return problem(folder_.problem());
    const std::filesystem::path copy = folder_.path() / "fetched";
    if (offset == 0) {
      const auto bytes = size_below(folder, file);
      if (!bytes) return problem(bytes.error().text());
      if (*bytes > limit) return {{"total", *bytes}, {"bytes", ""}};
      const auto digest = digest_below(folder, file, limit);
      if (!digest) return problem(digest.error().text());
      if (auto copied = copy_from_below(folder, file, *digest, copy); !copied) {
        return problem(copied.error().text());
      }
    }
    std::error_code missing;
    const auto total = std::filesystem::file_size(copy, missing);
    if (missing) return problem("has no copy of the file");
    std::ifstream stream(copy, std::ios::binary);
    stream.seekg(offset);
    std::string bytes(part_bytes, '\0');
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
    if (static_cast<std::uintmax_t>(offset) + bytes.size() >= total) {
      std::filesystem::remove(copy, missing);
    }
    return {{"total", total}, {"bytes", to_base64(bytes)}};
  }

  const Installation& installation_;
  const EnginePlace& place_;
  const Machine machine_ = probe_machine();
  wire::Channel host_;
  bool welcome_ = false;
  const TemporaryFolder folder_{"rank"};
  FileHashes hashes_;
  wire::Descriptor rendezvous_;
  wire::Listener probe_;
  std::list<AgentWorker> workers_;
  std::unique_ptr<NodeWatch> watch_;  // made when first asked for: opening NVML takes a while
};

}  // namespace

Result<void> serve_agent(const Installation& installation, const EnginePlace& place,
                         const HostPlace& host) {
  const auto bounds = bounds_of_loading();
  if (!bounds) return tl::unexpected(bounds.error());
  const auto limit = Clock::now() + bounds->time;
  RankAgent agent(installation, place);
  while (true) {
    auto channel = wire::connect(host.control, std::chrono::seconds(5));
    if (channel) return agent.run(std::move(*channel), host.token);
    if (channel.error().exit_code == ExitCode::bad_input) return tl::unexpected(channel.error());
    if (Clock::now() > limit) {
      return fail(ExitCode::machine_lacks,
                  fmt::format("rank {} of {} waited {} for its host: {}", place.rank, place.size,
                              human_duration(bounds->time.count()), channel.error().text()),
                  "`assay run --launcher wait` says at which address it waits; is it reachable "
                  "from here?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace assay::run
