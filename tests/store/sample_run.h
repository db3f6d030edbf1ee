#pragma once

#include <cmath>
#include <string>

#include "store/records/identity.h"
#include "store/records/json.h"
#include "store/records/records.h"

namespace assay::store::testing {

inline Series time_series(std::string pass, std::vector<double> samples) {
  Series series;
  series.pass = std::move(pass);
  series.metric = "time";
  series.unit = "s";
  series.clock = "cuda_event";
  series.samples = std::move(samples);
  return series;
}

inline CaseResult sample_case(std::int64_t ordinal) {
  CaseResult result;
  result.ordinal = ordinal;
  result.parameters = {{"seq_len", std::int64_t{128} << ordinal},
                       {"attention", std::string("flash")},
                       {"causal", true},
                       {"dropout", 0.0},
                       {"attention.scale", 0.125}};
  set_key(result);
  result.build = "a1b2";
  result.wall_s = 1.25;
  result.when = "2026-01-31T12:34:56Z";
  result.facts.extra = {{"clock_mhz", 1980}, {"throttled", false}};
  result.series = {time_series("forward", {1e-3, 1.1e-3, 0.9e-3})};
  Series memory;
  memory.pass = "forward";
  memory.metric = "peak_memory";
  memory.unit = "byte";
  memory.rank = 1;
  memory.part = "attention";
  memory.samples = {1 << 20};
  result.series.push_back(memory);
  return result;
}

inline CaseResult oom_case(std::int64_t ordinal) {
  CaseResult result = sample_case(ordinal);
  result.outcome = Outcome::oom;
  result.reason = "needs 12 GiB, \"8\" are free,\nsays CUDA";
  result.series.clear();
  return result;
}

inline Run sample_run() {
  Run run;
  run.info.name = "model_timing-1";
  run.info.experiment = "model_timing";
  run.info.title = "Timing of models";
  run.info.first.experiment_text = "experiment: model_timing\nmatrix:\n  seq_len: [128, 256]\n";
  run.info.first.experiment_file = "experiments/model_timing.yaml";
  run.info.first.overrides = {"--set", "seq_len=[128]"};
  run.info.started = "2026-01-31T12:34:00Z";
  run.info.finished = "2026-01-31T12:40:00Z";
  run.info.first.machine = {{"host", "lab1"},
                            {"gpus", {{{"name", "H200"}, {"memory", 150754820096}}}},
                            {"driver", "580.1"}};
  run.info.first.provenance = {{"source", {{"commit", "0123abc"}, {"clean", true}}},
                               {"versions", {{"libtorch", "2.11.0"}}},
                               {"plugins", {{{"file", "flash.so"}, {"sha256", "ff"}}}}};
  run.info.builds = {{"a1b2", {{"files", {{"flash.so", "ff"}}}}}};
  Session later = session_of(run.info, 0);
  later.machine["host"] = "lab2";
  later.provenance["source"]["clean"] = false;
  run.info.sessions = {later};
  run.cases = {sample_case(0), oom_case(1)};
  run.cases[1].session = 1;
  CaseResult partial = sample_case(2);
  partial.outcome = Outcome::oom;
  partial.reason = "out of memory in the backward pass";
  Series backward = time_series("backward", {});
  backward.outcome = Outcome::oom;
  backward.reason = partial.reason;
  partial.series.push_back(backward);
  Series imported = time_series("train_step", {});
  imported.clock = "";
  imported.statistics = {{"mean", 0.25}, {"std", 0.01}};
  partial.series.push_back(imported);
  run.cases.push_back(partial);
  return run;
}

// Every field, in a form that gtest prints.
inline std::string text_of(const CaseResult& result) { return to_json(result).dump(1); }
inline std::string text_of(const Run& run) {
  std::string text = to_json(run.info).dump(1);
  for (const CaseResult& result : run.cases) text += "\n" + text_of(result);
  return text;
}

}  // namespace assay::store::testing
