#pragma once

// wire holds the messages between host and worker and frames them over a socket. It depends on
// store/records; the host and the worker both link it. Start here: each struct is one message, and
// its JSON field `type` names it.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/records/records.h"

namespace assay::wire {

// A worker's environment variables, beside those of the launch engines (RANK, WORLD_SIZE,
// LOCAL_RANK, MASTER_ADDR, MASTER_PORT).
inline constexpr const char* control_variable = "ASSAY_CONTROL";  // "address:port" of the host
// Rank 0's descriptor of the socket bound to MASTER_PORT.
inline constexpr const char* rendezvous_variable = "ASSAY_RENDEZVOUS";
// Set, to its name, where a profiler starts the worker.
inline constexpr const char* under_variable = "ASSAY_UNDER";
// The address at which other ranks reach this one; unset: the loopback's.
inline constexpr const char* address_variable = "ASSAY_ADDRESS";
inline constexpr const char* token_variable = "ASSAY_TOKEN";  // proves that the worker is ours

// Worker → host, first.
struct Hello {
  std::string token;
  int rank = 0;
  int pid = 0;
  store::Parameters versions;  // libtorch, cuda, cudnn, nccl, fingerprint
};

// A file of tensors in which an external program has written one call of a pass.
struct ExchangeFile {
  std::string pass;
  std::string file;
};

// Host → worker: measure a case, or verify an external program's calls.
struct CaseRequest {
  std::int64_t ordinal = 0;
  store::Parameters parameters;  // every "auto" resolved
  std::vector<std::string> passes;
  std::set<std::string> pinned;
  std::map<std::string, store::Parameters> presets;  // "model" → its fields
  std::vector<std::string> plugin_files;             // libraries with the variants
  // Calls to verify instead of measuring. The parameters then lack the external program's kind.
  std::vector<ExchangeFile> exchanged;
  bool takes_turns = false;            // interleaved: waits for a Turn ahead of its samples
  std::vector<std::string> observers;  // look at each pass after all have been timed
  // Zero of the case's time base, on CLOCK_MONOTONIC of the host's machine.
  double begin_s = 0;
  std::string artefact_folder;            // each rank makes one below it; "": no file may be left
  std::int64_t artefact_limit_bytes = 0;  // of all artefacts of this rank together
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
  std::vector<store::Artefact> artefacts;  // `file` is relative to the rank's artefact folder
};

// TurnWanted::pass of a case whose passes have all been timed, ahead of its observers.
inline constexpr const char* observing_turn = "observe";

// Worker → host: this rank is ready for its next samples and waits for a Turn.
struct TurnWanted {
  std::int64_t ordinal = 0;
  std::string pass;
  std::int64_t taken = 0;    // samples of the pass so far
  std::int64_t planned = 0;  // samples in all; the minimum with a target
};
// Host → worker: take so many samples, then ask again.
struct Turn {
  std::int64_t ordinal = 0;
  std::int64_t samples = 1;
  bool after_others = false;  // another case was measured since its last turn
};

nlohmann::json to_json(const Hello& message);
nlohmann::json to_json(const CaseRequest& message);
nlohmann::json to_json(const Progress& message);
nlohmann::json to_json(const Measured& message);
nlohmann::json to_json(const CaseDone& message);
nlohmann::json to_json(const TurnWanted& message);
nlohmann::json to_json(const Turn& message);

// "hello", "case", "progress", "measured", "case_done", "turn_wanted", "turn", or "".
std::string message_type(const nlohmann::json& message);
// Needs every field. Errors: ExitCode::machine_lacks.
FieldReader reader_of(const nlohmann::json& message, const char* type);
Result<Hello> hello_from_json(const nlohmann::json& message);
Result<CaseRequest> case_request_from_json(const nlohmann::json& message);
Result<Progress> progress_from_json(const nlohmann::json& message);
Result<Measured> measured_from_json(const nlohmann::json& message);
Result<CaseDone> case_done_from_json(const nlohmann::json& message);
Result<TurnWanted> turn_wanted_from_json(const nlohmann::json& message);
// Needs at least one sample.
Result<Turn> turn_from_json(const nlohmann::json& message);

}  // namespace assay::wire
