#pragma once

#include <string>

#include "base/text.h"
#include "sample_run.h"
#include "store/records/artefacts.h"

namespace assay::store::testing {

inline Series recorded(std::string metric, std::string part, std::vector<double> samples) {
  Series series;
  series.pass = "forward";
  series.metric = std::move(metric);
  series.part = std::move(part);
  series.unit = "s";
  series.samples = std::move(samples);
  return series;
}

inline Series in_lane(Series series, std::string lane) {
  series.lane = std::move(lane);
  return series;
}

inline Series words(std::string metric, std::string part, std::vector<std::string> words) {
  Series series = recorded(std::move(metric), std::move(part), {});
  series.unit = "";
  series.words = std::move(words);
  return series;
}

inline Artefact artefact_of(const CaseResult& result, const std::string& name,
                            const std::string& content) {
  Artefact artefact;
  artefact.pass = "forward";
  artefact.name = name;
  artefact.file = artefact_file(result.key, artefact);
  artefact.media_type = "application/json";
  artefact.bytes = static_cast<std::int64_t>(content.size());
  artefact.sha256 = sha256_hex(content);
  return artefact;
}

// sample_run() with all that a program can record in its first case.
inline Run recording_run() {
  Run run = sample_run();
  CaseResult& result = run.cases[0];
  result.series.push_back(in_lane(recorded("span_start", "all_reduce", {0.1, 0.4}), "stream 7"));
  result.series.push_back(in_lane(recorded("span_end", "all_reduce", {0.2, 0.5}), "stream 7"));
  result.series.push_back(in_lane(recorded("span_start", "all_reduce", {0.3}), "stream 9"));
  result.series.push_back(in_lane(recorded("span_end", "all_reduce", {0.35}), "stream 9"));
  result.series.push_back(words("dtype", "block, \"0\"", {"bf16"}));
  result.series.push_back(words("dtype", "norm", {"fp32", "[odd]"}));
  result.series.push_back(words("dtype", "list", {"[\"x\"]"}));
  result.artefacts = {artefact_of(result, "trace.json", "{\"events\": []}"),
                      artefact_of(result, "stacks.txt", "a;b 3\n")};
  return run;
}

}  // namespace assay::store::testing
