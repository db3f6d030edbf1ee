#pragma once

// What host and worker say to each other. Each struct is one message; `type` tells them apart.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/records.h"

namespace assay::wire {

// Environment variables a worker is started with; rank and rendezvous come in the names the
// launch engines use (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT).
inline constexpr const char* control_variable = "ASSAY_CONTROL";  // "address:port" of the host
inline constexpr const char* token_variable = "ASSAY_TOKEN";      // proves that the worker is ours

// Worker → host, first.
struct Hello {
  std::string token;
  int rank = 0;
  int pid = 0;
  nlohmann::json versions;  // libtorch, cuda, cudnn, nccl, fingerprint
};

// One call of a pass that an external program has written to a file of tensors.
struct ExchangeFile {
  std::string pass;
  std::string file;
};

// Host → worker: measure this, or verify what another program did.
struct CaseRequest {
  std::int64_t ordinal = 0;
  store::Parameters parameters;  // nothing is "auto" any more
  std::vector<std::string> passes;
  std::set<std::string> pinned;
  std::map<std::string, store::Parameters> presets;  // "model" → its fields
  std::vector<std::string> plugin_files;             // libraries to take the variants from
  // Where these are given nothing is measured; they are verified. The parameters then lack the kind
  // of the program that wrote them.
  std::vector<ExchangeFile> exchanged;
};

// Worker → host, while a case runs.
struct Progress {
  std::int64_t ordinal = 0;
  std::string doing;  // "verifying", "forward", …
};
struct Measured {
  std::int64_t ordinal = 0;
  store::Series series;
};
// Worker → host: this rank has finished the case.
struct CaseDone {
  std::int64_t ordinal = 0;
  Outcome outcome = Outcome::ok;
  std::string reason;
  nlohmann::json context;
};

nlohmann::json to_json(const Hello& message);
nlohmann::json to_json(const CaseRequest& message);
nlohmann::json to_json(const Progress& message);
nlohmann::json to_json(const Measured& message);
nlohmann::json to_json(const CaseDone& message);

// "hello", "case", "progress", "measured", "case_done"; "" when there is none.
std::string message_type(const nlohmann::json& message);
Result<Hello> hello_from_json(const nlohmann::json& message);
Result<CaseRequest> case_request_from_json(const nlohmann::json& message);
Result<Progress> progress_from_json(const nlohmann::json& message);
Result<Measured> measured_from_json(const nlohmann::json& message);
Result<CaseDone> case_done_from_json(const nlohmann::json& message);

}  // namespace assay::wire
