#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/records/parameters.h"

// How a case was measured and what was seen meanwhile. Within the program these are typed values;
// the database, the messages of a worker and the exports hold them as JSON, which docs/results.md
// and docs/measuring.md describe: a field has the name it has here, one that says nothing is left
// out.
namespace assay::store {

// Why a case, or the times of one of its passes, deserve less trust.
struct Mark {
  std::string mark;    // throttled, shared, busy, drifting, wide, …
  std::string pass;    // "": all that was timed in the case
  std::string reason;  // for people

  bool operator==(const Mark&) const = default;
};

// What a clock knows of its own readings.
struct ClockFacts {
  std::optional<double> resolution_s;
  std::optional<double> overhead_s;
  std::optional<double> between_calls_s;
  std::optional<double> hold_s;
  std::optional<double> call_error_s;  // by which it may show each call too long or too short
  std::optional<std::int64_t> calls;
  std::optional<std::int64_t> calls_with_launch_gaps;
};

struct CacheFacts {
  std::string policy;
  std::optional<std::int64_t> cache_bytes;
  std::optional<std::int64_t> flushed_bytes;
  std::optional<std::int64_t> programs;
  std::optional<std::int64_t> program_bytes;
};

// How the times of one pass were taken.
struct SamplingFacts {
  std::string clock;
  std::optional<std::int64_t> warmup;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> calls_per_sample;
  std::optional<std::int64_t> grouped_calls;
  std::optional<double> resolution_s;
  std::optional<bool> too_short;
  std::optional<double> target;
  std::string stopped_by;
  // Half of the median's. Infinite, and nothing once it was stored: the samples do not tell.
  std::optional<double> relative_interval;
  CacheFacts cache;
  ClockFacts clock_facts;
};

struct VerifiedOnce {
  std::optional<double> error;
  std::optional<double> tolerance;
  std::optional<std::string> of;  // the tensor with that error
};

// What the calls of a pass left behind, compared with each other.
struct RepeatedOutputs {
  std::optional<std::int64_t> looks;
  std::optional<std::int64_t> outputs;
  std::optional<double> change;
  std::optional<double> tolerance;
};

struct VerificationFacts {
  VerifiedOnce before;  // timing
  VerifiedOnce after;
  RepeatedOutputs repeated;
};

// LibTorch's memory before the case and after all of it was released.
struct MemoryFacts {
  std::optional<std::int64_t> floor_bytes;
  std::optional<std::int64_t> after_bytes;
  std::string leak;  // how much of what was not given back
};

struct InterleavedPass {
  std::optional<std::int64_t> block;  // samples a turn
  std::optional<std::int64_t> rounds;
  std::optional<std::string> turns;
};

// Of a case that was to be measured in turns with others.
struct InterleaveFacts {
  std::optional<std::string> as;                           // its letter
  std::optional<std::map<std::string, std::string>> with;  // the others by letter
  std::optional<std::map<std::string, InterleavedPass>> passes;
  std::optional<std::string> apart;  // why it was measured alone instead
};

struct CaseFacts {
  std::optional<std::vector<std::string>> passes;  // that were to be measured
  std::map<std::string, SamplingFacts> timing;     // by pass
  std::map<std::string, VerificationFacts> verification;
  std::map<std::string, std::string> unverified;  // pass to the reason
  std::vector<Mark> marks;
  std::map<std::string, std::string> discarded;  // pass to the mark for which `discard` took it
  std::optional<InterleaveFacts> interleaved;
  Parameters versions;     // of the libraries it was measured with
  std::string permission;  // by what a program of others was allowed to run; written as `leave`
  MemoryFacts memory;
  std::map<std::string, std::string> left_behind;  // mark to reason, from a worker to its host
  std::string output;                              // what its processes printed
  nlohmann::json health;                           // as health::to_json() sums it up
  std::map<std::string, CaseFacts> ranks;          // what differs from rank 0, by rank
  nlohmann::json extra;  // what of the JSON no field here holds; it is written back as it was
};

// null where nothing is known.
nlohmann::json to_json(const CaseFacts& facts);
// What is not as described above is passed over, and stays in `extra`.
CaseFacts case_facts_from_json(nlohmann::json json);

// Adds what another part of the case tells: maps and lists are joined, `output` is continued, of
// any other field the later says it.
void add(CaseFacts& whole, const CaseFacts& part);

}  // namespace assay::store
