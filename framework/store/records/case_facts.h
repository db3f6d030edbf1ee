#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "store/records/parameters.h"

// How a case was measured and what was seen meanwhile: typed values in the program, JSON in the
// database, the messages of a worker and the exports (docs/results.md, docs/measuring.md). A JSON
// field has the name it has here; an empty one is left out.
namespace assay::store {

// Why a case, or the times of one of its passes, deserve less trust.
struct Mark {
  std::string mark;    // throttled, shared, busy, drifting, wide, …
  std::string pass;    // "": every timed series of the case
  std::string reason;  // for people

  bool operator==(const Mark&) const = default;
};

struct ClockFacts {
  std::optional<double> resolution_s;
  std::optional<double> overhead_s;
  std::optional<double> between_calls_s;
  std::optional<double> hold_s;
  std::optional<double> call_error_s;  // ± on each call
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
  // Half of the median's interval, as a share of it. Infinite where the samples are too few, and
  // then absent once stored.
  std::optional<double> relative_interval;
  CacheFacts cache;
  ClockFacts clock_facts;
};

struct VerifiedOnce {
  std::optional<double> error;
  std::optional<double> tolerance;
  std::optional<std::string> of;  // the tensor with that error
};

// Compares the outputs that the calls of a pass left behind.
struct RepeatedOutputs {
  std::optional<std::int64_t> looks;
  std::optional<std::int64_t> outputs;
  std::optional<double> change;
  std::optional<double> tolerance;
};

// Looks at calls that were timed, each with inputs of its own.
struct TimedLooksFacts {
  std::string integrity;  // measure.integrity
  std::optional<std::int64_t> renewed_inputs;
  std::optional<std::int64_t> looks;    // that compared something, on all ranks
  std::optional<std::string> left_out;  // why the first look that compared nothing did not
  std::optional<double> error;          // with its tolerance, of the tensor nearest to it
  std::optional<double> tolerance;
  std::optional<std::string> of;
  std::optional<double> error_ratio;  // to the error of textbook operations in the dtype
  std::optional<double> looks_s;      // that all looks took
};

struct VerificationFacts {
  VerifiedOnce before;  // timing
  VerifiedOnce after;
  RepeatedOutputs repeated;
  TimedLooksFacts timed;
};

// LibTorch's memory before the case and after its release.
struct MemoryFacts {
  std::optional<std::int64_t> floor_bytes;
  std::optional<std::int64_t> after_bytes;
  std::string leak;  // how much was not given back, for people
};

struct InterleavedPass {
  std::optional<std::int64_t> block;  // samples per turn
  std::optional<std::int64_t> rounds;
  std::optional<std::string> turns;
};

// A case that was planned to be interleaved with others.
struct InterleaveFacts {
  std::optional<std::string> as;                           // its letter
  std::optional<std::map<std::string, std::string>> with;  // the others by letter
  std::optional<std::map<std::string, InterleavedPass>> passes;
  std::optional<std::string> apart;  // why it was measured alone
};

// In CaseFacts::left_behind of a case whose plugins have written to what judges them.
inline constexpr const char* tampered_mark = "tampered";

struct CaseFacts {
  std::optional<std::vector<std::string>> passes;  // planned ones
  std::map<std::string, SamplingFacts> timing;     // by pass
  std::map<std::string, VerificationFacts> verification;
  std::map<std::string, std::string> unverified;  // pass to the reason
  std::vector<Mark> marks;
  std::map<std::string, std::string> discarded;  // pass to the mark that `discard` acted on
  std::optional<InterleaveFacts> interleaved;
  Parameters versions;     // of the libraries
  std::string permission;  // what allowed an external program to run; written as `leave`
  MemoryFacts memory;
  std::map<std::string, std::string> left_behind;  // mark to reason, from a worker to its host
  std::vector<std::string> left_out;               // what was recorded and not kept, for people
  std::string output;                              // what its processes printed
  nlohmann::json health;                           // as health::to_json() sums it up
  std::map<std::string, CaseFacts> ranks;          // what differs from rank 0, by rank
  nlohmann::json extra;  // JSON beyond the fields above, kept and written back
};

// At the timed calls of a pass; empty where nothing is told of them.
TimedLooksFacts looks_at(const CaseFacts& facts, const std::string& pass);

// null for no facts.
nlohmann::json to_json(const CaseFacts& facts);
// Never fails: unexpected JSON goes to `extra`.
CaseFacts case_facts_from_json(nlohmann::json json);

// Joins maps and lists, appends to `output`, replaces any other field.
void add(CaseFacts& whole, const CaseFacts& part);

}  // namespace assay::store
