#pragma once

// wire holds the messages between host and worker and frames them over a socket. It depends on
// store/records; the host and the worker both link it. Start here.

// Each struct is one message; `type` tells them apart.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/records/records.h"

namespace assay::wire {

// Environment variables a worker is started with; rank and rendezvous come in the names the
// launch engines use (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT).
inline constexpr const char* control_variable = "ASSAY_CONTROL";  // "address:port" of the host
// Of rank 0: the descriptor of the socket that MASTER_PORT is bound to.
inline constexpr const char* rendezvous_variable = "ASSAY_RENDEZVOUS";
inline constexpr const char* token_variable = "ASSAY_TOKEN";  // proves that the worker is ours

// Worker → host, first.
struct Hello {
  std::string token;
  int rank = 0;
  int pid = 0;
  store::Parameters versions;  // libtorch, cuda, cudnn, nccl, fingerprint
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
  // Others are measured in turns with it: ahead of its samples it waits for a Turn.
  bool takes_turns = false;
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
  store::CaseFacts facts;
};

// Worker → host: this rank is ready for its next samples and does nothing until it has a Turn.
struct TurnWanted {
  std::int64_t ordinal = 0;
  std::string pass;
  std::int64_t taken = 0;    // samples of the pass it has
  std::int64_t planned = 0;  // those it will have; at least so many where it decides as it goes
};
// Host → worker: take so many samples, then ask again.
struct Turn {
  std::int64_t ordinal = 0;
  std::int64_t samples = 1;
  bool after_others = false;  // somebody else was measured since its last turn
};

nlohmann::json to_json(const Hello& message);
nlohmann::json to_json(const CaseRequest& message);
nlohmann::json to_json(const Progress& message);
nlohmann::json to_json(const Measured& message);
nlohmann::json to_json(const CaseDone& message);
nlohmann::json to_json(const TurnWanted& message);
nlohmann::json to_json(const Turn& message);

// "hello", "case", "progress", "measured", "case_done", "turn_wanted", "turn"; "" when there is
// none.
std::string message_type(const nlohmann::json& message);
// Of a message every field is needed; what is wrong with it is an Error with
// ExitCode::machine_lacks.
FieldReader reader_of(const nlohmann::json& message, const char* type);
Result<Hello> hello_from_json(const nlohmann::json& message);
Result<CaseRequest> case_request_from_json(const nlohmann::json& message);
Result<Progress> progress_from_json(const nlohmann::json& message);
Result<Measured> measured_from_json(const nlohmann::json& message);
Result<CaseDone> case_done_from_json(const nlohmann::json& message);
Result<TurnWanted> turn_wanted_from_json(const nlohmann::json& message);
// A turn of less than one sample is an error.
Result<Turn> turn_from_json(const nlohmann::json& message);

}  // namespace assay::wire
