#pragma once

// store/records holds the values of runs, cases and series, their units, marks and JSON. It depends
// on statistics. Start here.

#include <assay/outcome.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/records/case_facts.h"
#include "store/records/parameters.h"

namespace assay::store {

// Of the database; each line of an export names it.
inline constexpr int schema_version = 5;

// One metric of one pass of one case on one rank, and of one part such as a phase or a kernel.
struct Series {
  std::string pass;
  std::string metric;
  std::string part;
  std::string lane;  // of spans: where a timeline draws them
  int rank = 0;
  std::string unit;  // base unit: s, byte, FLOP, count
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::string clock;            // wall, cuda_event, cuda_graph; "" where no clock is involved
  std::vector<double> samples;  // in the base unit, in the order taken
  std::map<std::string, double> statistics;  // imported figures without samples
  std::vector<std::string> words;            // in place of samples, of a metric of kind text
};

// A file that a case has left, in the run's folder.
struct Artefact {
  std::string pass;
  int rank = 0;
  std::string name;        // "trace.json"; unique in its pass and rank
  std::string file;        // relative to the run's folder, with forward slashes
  std::string media_type;  // "application/json"
  std::int64_t bytes = 0;
  std::string sha256;
};

struct CaseResult {
  std::int64_t ordinal = 0;  // in the run's plan
  std::string key;           // sha256 of `key_text`
  std::string key_text;      // "name=value" sorted by name, joined with ", "
  Parameters parameters;
  std::string build;  // identity of the measuring binaries (RunInfo::builds)
  int session = 0;    // 0: RunInfo::first; n: RunInfo::sessions[n - 1]
  Outcome outcome = Outcome::ok;
  std::string reason;
  double wall_s = 0;  // of the whole case
  std::string when;   // ISO 8601, UTC
  CaseFacts facts;
  std::vector<Series> series;
  std::vector<Artefact> artefacts;
};

struct Session {
  std::string experiment_text;  // the YAML as the user wrote it
  std::string experiment_file;
  std::vector<std::string> overrides;  // --set, --filter and --case, as given
  nlohmann::json machine;              // host, cpu, gpus, driver, memory
  // Versions, git commit, environment, presets, and by name what cases lack of the matrix's axes
  // because it is a default (left_out).
  nlohmann::json provenance;

  bool operator==(const Session&) const = default;
};

struct RunInfo {
  std::string name;  // unique; also the folder of its artefacts
  std::string experiment;
  std::string title;
  std::string started;   // ISO 8601, UTC
  std::string finished;  // "" while running or when interrupted
  Session first;
  std::vector<Session> sessions;                 // later ones: another commit, machine, text, …
  std::map<std::string, nlohmann::json> builds;  // by CaseResult::build: its files and hashes
};

struct Run {
  RunInfo info;
  std::vector<CaseResult> cases;  // by ordinal
};

}  // namespace assay::store
