#pragma once

// Messages between the host and an agent. An agent is `assay worker`, which a launch engine starts
// once a rank; it runs the rank's worker on its node as the host asks, and tells how that goes. The
// worker itself talks to the host over a connection of its own (wire/messages.h).

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace assay::wire {

// Host → user → agent: the environment variables control_variable and token_variable.

// Agent → host, first.
struct Join {
  std::string token;
  std::string engine;             // whose variables it found: "torchrun", "Open MPI", "Slurm", …
  int rank = 0;                   // in the launch
  int size = 1;                   // ranks of the launch
  int local_rank = 0;             // on its node
  std::string node;               // as the engine or the system calls it
  std::string boot_id;            // of the machine, new with each start
  std::string network;            // of the network namespace
  std::string address;            // at which other ranks may reach it
  int port = 0;                   // that the engine sets aside for the rendezvous; 0: none
  int pid = 0;                    // of the agent, on its machine
  std::string folder;             // for the files of cases; "": none could be made
  std::string worker_sha256;      // of its worker library
  nlohmann::json machine;         // as stored with a session
  std::vector<std::string> gpus;  // that it sees, by UUID
};

// Host → agent: start a worker.
struct StartWorker {
  int worker = 0;  // the host's number for it
  std::map<std::string, std::string> environment;
  bool at_rendezvous = false;  // pass on the socket of the last `bind`
  int share = 1;               // ranks of its group on this node, which share the memory
};
// Agent → host.
struct WorkerPrinted {
  int worker = 0;
  std::string text;  // the end of it, as UTF-8
};
struct WorkerEnded {
  int worker = 0;
  bool signalled = false;
  int number = 0;  // exit code or signal
  std::int64_t peak_memory_bytes = 0;
  bool out_of_memory = false;  // the system ended it for lack of memory
  std::string stopped;         // why the agent ended it; "" where it did not
  std::string cause;           // of a signal, from its status page
};
// Host → agent: what the worker's status page says. Agent → host: the same with the answer, behind
// all that the worker had printed.
struct Asked {
  int worker = 0;
  int question = 0;
  std::int64_t collectives = -1;  // -1: it has not answered
};

nlohmann::json to_json(const Join& message);
nlohmann::json to_json(const StartWorker& message);
nlohmann::json to_json(const WorkerPrinted& message);
nlohmann::json to_json(const WorkerEnded& message);
nlohmann::json to_json(const Asked& message);

Result<Join> join_from_json(const nlohmann::json& message);
Result<StartWorker> start_worker_from_json(const nlohmann::json& message);
Result<WorkerPrinted> worker_printed_from_json(const nlohmann::json& message);
Result<WorkerEnded> worker_ended_from_json(const nlohmann::json& message);
Result<Asked> asked_from_json(const nlohmann::json& message);

}  // namespace assay::wire
