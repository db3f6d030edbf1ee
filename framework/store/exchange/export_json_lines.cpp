#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "store/exchange/export.h"

#include "base/case_key.h"
#include "statistics/sample_order.h"
#include "store/exchange/export_statistics.h"
#include "store/records/identity.h"
#include "store/records/json.h"
#include "store/records/marks.h"

namespace assay::store {
namespace {

using nlohmann::json;

json finite_or_null(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

json excerpt(const json& object, std::initializer_list<const char*> names) {
  json kept = json::object();
  if (!object.is_object()) return kept;
  for (const char* name : names) {
    if (const auto field = object.find(name); field != object.end()) kept[name] = *field;
  }
  return kept;
}

json short_machine(const json& machine) {
  json kept = excerpt(machine, {"host", "gpu"});
  const json& gpus = member_of(machine, "gpus");
  if (!gpus.is_array() || gpus.empty()) return kept;
  const json& first = gpus.front();
  if (first.is_string()) kept["gpu"] = first;
  if (first.is_object() && first.contains("name")) kept["gpu"] = first["name"];
  return kept;
}

json short_provenance(const json& provenance) {
  return excerpt(provenance, {"source", "fingerprint", "versions"});
}

// The run without the fields that every line has.
json rest_of_run(const RunInfo& info) {
  json rest = to_json(info);
  for (const char* known : {"name", "experiment", "machine"}) rest.erase(known);
  return rest;
}

// The case without the fields that every line has.
void add_rest_of_case(const CaseResult& result, json& provenance) {
  provenance["case"] = {{"outcome", to_text(result.outcome)},
                        {"reason", result.reason},
                        {"wall_s", number_to_json(result.wall_s)},
                        {"session", result.session},
                        {"context", to_json(result.facts)}};
  if (result.key_text != case_key_text(result.parameters)) {
    provenance["case"]["key_text"] = result.key_text;
  }
  for (const Artefact& artefact : result.artefacts) {
    provenance["case"]["artefacts"].push_back(to_json(artefact));
  }
}

// Marks from the order of the samples, then marks from watching the machine.
std::vector<std::string> mark_words(const CaseResult& result, const Series& series,
                                    const statistics::SampleOrder& order) {
  std::vector<std::string> words;
  if (order.autocorrelated) words.push_back("autocorrelated");
  if (order.drifting) words.push_back("drifting");
  for (const Mark& mark : marks_of(result, series)) {
    if (std::find(words.begin(), words.end(), mark.mark) == words.end()) words.push_back(mark.mark);
  }
  if (discarded_for(result, series)) words.push_back("discarded");
  return words;
}

// All fields but machine, when and provenance, in the documented order.
nlohmann::ordered_json line_of(const RunInfo& info, const CaseResult& result,
                               const Series& series) {
  json samples = json::array();
  for (const double sample : series.samples) samples.push_back(finite_or_null(sample));
  json statistics = json::object();
  for (const auto& [name, figure] : figures_of(series)) {
    const bool counts = name == "n" && std::isfinite(figure);
    statistics[name] = counts ? json(std::llround(figure)) : finite_or_null(figure);
  }
  const statistics::SampleOrder order = statistics::examine_order(series.samples);
  if (std::isfinite(order.autocorrelation)) statistics["autocorrelation"] = order.autocorrelation;
  if (std::isfinite(order.drift)) statistics["drift"] = order.drift;
  const ExchangedOutcome exchanged = exchanged_outcome(series);
  nlohmann::ordered_json line;
  line["run"] = info.name;
  line["experiment"] = info.experiment;
  line["case"] = to_json(result.parameters);
  line["pass"] = series.pass;
  line["metric"] = series.metric;
  line["part"] = series.part;
  if (!series.lane.empty()) line["lane"] = series.lane;
  line["rank"] = series.rank;
  line["unit"] = series.unit;
  line["outcome"] = to_text(exchanged.outcome);
  line["reason"] = exchanged.reason;
  line["samples"] = samples;
  if (!series.words.empty()) line["words"] = series.words;
  line["statistics"] = statistics;
  line["flags"] = mark_words(result, series, order);
  return line;
}

class LineWriter {
 public:
  LineWriter(const RunInfo& info, std::ostream& out, const ExportOptions& options)
      : info_(info), out_(out), options_(options) {}

  void write(const CaseResult& result) {
    if (result.session != session_) take_session(result.session);
    first_of_case_ = true;
    for (const Series& series : result.series) write_line(result, series);
    if (!result.series.empty()) return;
    Series none;
    none.outcome = result.outcome;
    none.reason = result.reason;
    write_line(result, none);
  }

 private:
  void take_session(int number) {
    const Session& session = session_of(info_, number);
    const bool whole = options_.whole_context_in_every_line;
    machine_ = whole ? session.machine : short_machine(session.machine);
    provenance_ = whole ? session.provenance : short_provenance(session.provenance);
    if (!provenance_.is_object()) provenance_ = json::object();
    session_ = number;
  }

  void write_line(const CaseResult& result, const Series& series) {
    nlohmann::ordered_json line = line_of(info_, result, series);
    json provenance = provenance_;
    provenance["ordinal"] = result.ordinal;
    provenance["key"] = result.key;
    provenance["build"] = result.build;
    provenance["clock"] = series.clock;
    provenance["schema"] = schema_version;
    if (first_of_case_) add_rest_of_case(result, provenance);
    if (first_of_run_) provenance["run"] = rest_of_run(info_);
    line["machine"] = first_of_run_ ? info_.first.machine : machine_;
    line["when"] = result.when;
    line["provenance"] = provenance;
    out_ << line.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
    first_of_case_ = first_of_run_ = false;
  }

  const RunInfo& info_;
  std::ostream& out_;
  const ExportOptions& options_;
  int session_ = -1;  // of machine_ and provenance_
  json machine_;
  json provenance_;
  bool first_of_run_ = true;
  bool first_of_case_ = true;
};

}  // namespace

Result<void> export_json_lines(const Run& run, std::ostream& out, const ExportOptions& options) {
  if (run.cases.empty()) {
    return fail(ExitCode::bad_input, fmt::format("run '{}' has no cases to export", run.info.name));
  }
  LineWriter writer(run.info, out, options);
  for (const CaseResult& result : run.cases) writer.write(result);
  out.flush();
  if (!out)
    return fail(ExitCode::results_unreadable, "the export could not be written",
                "is the disk full?");
  return {};
}

}  // namespace assay::store
