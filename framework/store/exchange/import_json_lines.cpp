#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/case_key.h"
#include "base/text.h"
#include "store/exchange/import_formats.h"
#include "store/records/identity.h"
#include "store/records/intake.h"
#include "store/records/json.h"
#include "store/records/units.h"
#include "store/renames/renames.h"

namespace assay::store {
namespace {

using nlohmann::json;

struct Line {
  std::string run;
  std::string experiment;
  std::string when;
  Parameters parameters;
  Series series;
  json machine;
  json provenance = json::object();
};

Result<Line> read_line(const json& object) {
  FieldReader fields(object, "line");
  Line line;
  fields.text("run", line.run);
  fields.text("experiment", line.experiment);
  fields.text("when", line.when);
  fields.require("case");
  fields.object("case", parameters_from_json, line.parameters);
  fields.take(series_from_json(object), line.series);
  if (const std::string wrong = what_is_wrong_with(line.series); !wrong.empty()) {
    fields.add("the series " + wrong);
  }
  if (const std::optional<Unit> unit = unit_named(line.series.unit);
      unit && unit->base != line.series.unit) {
    fields.add(
        fmt::format("figures are in base units: '{}', not '{}'", unit->base, line.series.unit));
  }
  fields.any("machine", line.machine);
  fields.any("provenance", line.provenance);
  if (!line.provenance.is_object()) fields.wrong("provenance", "an object");
  return fields.finish(std::move(line));
}

// Whether an assay of an earlier schema wrote the line. Until 5 lines did not say theirs.
bool is_older(const Line& line) {
  if (line.provenance.contains("schema")) {
    return integer_at(line.provenance, "schema") < schema_of_names;
  }
  return line.provenance.contains("key");
}

class JsonLinesImport {
 public:
  JsonLinesImport(const std::string& file_name, const ImportOptions& options)
      : problems_(file_name),
        options_(options),
        stem_(std::filesystem::path(file_name).stem().string()) {}

  void add_line(std::string_view text, int number) {
    const Result<json> object = parse_json(text);
    if (!object) return problems_.add(number, 1, object.error());
    Result<Line> line = read_line(*object);
    if (!line) return problems_.add(number, 1, line.error());
    const bool first = first_line_ == 0;
    if (first) {
      first_line_ = number;
      run_.info.name = line->run;
      run_.info.experiment = line->experiment;
      run_.info.first.machine = line->machine;
      run_.info.first.provenance = without_case(line->provenance);
    }
    if (line->run != run_.info.name || line->experiment != run_.info.experiment) {
      return problems_.add(
          number, 1,
          fmt::format("this line is of run '{}' of '{}', line {} of run '{}' of '{}'", line->run,
                      line->experiment, first_line_, run_.info.name, run_.info.experiment),
          "a file holds one run");
    }
    if (line->provenance.contains("run")) {
      read_run(*line, number);
      sessions_are_older_ = is_older(*line);
    }
    if (CaseResult* result = case_of(*line, number)) add_to_case(*result, std::move(*line), number);
  }

  Result<Run> finish() {
    if (!problems_.none()) return tl::unexpected(problems_.error());
    const auto sessions = static_cast<int>(run_.info.sessions.size());
    for (CaseResult& result : run_.cases) {
      if (!has_own_outcome_.contains(result.ordinal)) set_outcome_from_series(result);
      // Part of a file lacks the line with the sessions.
      if (result.session < 0 || result.session > sessions) result.session = 0;
    }
    rename_variants(run_, sessions_are_older_,
                    [this](const CaseResult& result) { return older_.contains(result.ordinal); });
    std::sort(run_.cases.begin(), run_.cases.end(),
              [](const CaseResult& a, const CaseResult& b) { return a.ordinal < b.ordinal; });
    if (!options_.run.empty()) run_.info.name = options_.run;
    if (!options_.experiment.empty()) run_.info.experiment = options_.experiment;
    if (run_.info.experiment.empty()) run_.info.experiment = stem_;
    if (run_.info.started.empty()) run_.info.started = run_.info.finished = options_.when;
    return std::move(run_);
  }

 private:
  // The run's provenance from a line's, for a file where no line has it whole.
  static json without_case(json provenance) {
    for (const char* name : {"ordinal", "key", "build", "clock", "case", "run", "schema"}) {
      provenance.erase(name);
    }
    return provenance;
  }

  void read_run(const Line& line, int number) {
    json whole = line.provenance["run"];
    if (!whole.is_object()) {
      return problems_.add(number, 1, "'provenance.run' should be an object");
    }
    whole["name"] = run_.info.name;
    whole["experiment"] = run_.info.experiment;
    whole["machine"] = line.machine;
    if (Result<RunInfo> info = run_info_from_json(whole)) {
      run_.info = std::move(*info);
    } else {
      problems_.add(number, 1, info.error());
    }
  }

  // The line's case: by its ordinal or, in a file from elsewhere, by its parameters.
  CaseResult* case_of(const Line& line, int number) {
    const std::string key_text = case_key_text(line.parameters);
    const auto written = line.provenance.find("ordinal");
    std::optional<std::int64_t> ordinal;
    if (written != line.provenance.end()) {
      ordinal = integer_from_json(*written);
      if (!ordinal) {
        problems_.add(number, 1, "'provenance.ordinal' should be a whole number");
        return nullptr;
      }
    }
    if (!has_ordinals_) has_ordinals_ = ordinal.has_value();
    if (*has_ordinals_ != ordinal.has_value()) {
      problems_.add(
          number, 1,
          fmt::format("'provenance.ordinal' is {} here and {} on line {}",
                      ordinal ? "given" : "missing", ordinal ? "missing" : "given", first_line_),
          "every line of a file numbers its case, or none does");
      return nullptr;
    }
    const std::string identity = ordinal ? fmt::format("#{}", *ordinal) : key_text;
    const auto [place, is_new] = place_.try_emplace(identity, Place{run_.cases.size(), number});
    if (is_new) {
      CaseResult result;
      result.ordinal = ordinal.value_or(static_cast<std::int64_t>(run_.cases.size()));
      result.parameters = line.parameters;
      set_key(result);
      if (is_older(line)) older_.insert(result.ordinal);
      run_.cases.push_back(std::move(result));
    }
    CaseResult& result = run_.cases[place->second.index];
    if (case_key_text(result.parameters) == key_text) return &result;
    problems_.add(number, 1,
                  fmt::format("case {} has other parameters here than on line {}", result.ordinal,
                              place->second.line));
    return nullptr;
  }

  void add_to_case(CaseResult& result, Line line, int number) {
    FieldReader fields(line.provenance, "provenance");
    fields.text("key", result.key);
    fields.text("build", result.build);
    fields.text("clock", line.series.clock);
    if (const json* rest = fields.find("case")) read_rest_of_case(*rest, result, number);
    if (const auto read = fields.finish(true); !read) problems_.add(number, 1, read.error());
    result.when = line.when;
    if (line.series.pass.empty() && line.series.metric.empty()) {
      if (!has_own_outcome_.contains(result.ordinal)) {
        result.outcome = line.series.outcome;
        result.reason = line.series.reason;
      }
      return;
    }
    if (!line.series.samples.empty()) drop_computed_statistics(line.series.statistics);
    result.series.push_back(std::move(line.series));
  }

  void read_rest_of_case(const json& rest, CaseResult& result, int number) {
    json whole = rest;
    if (whole.is_object()) whole["parameters"] = json::object();
    Result<CaseResult> read = case_result_from_json(whole);
    if (!read) return problems_.add(number, 1, read.error());
    result.outcome = read->outcome;
    result.reason = read->reason;
    result.wall_s = read->wall_s;
    result.session = read->session;
    result.facts = std::move(read->facts);
    result.artefacts = std::move(read->artefacts);
    if (!read->key_text.empty()) result.key_text = read->key_text;
    has_own_outcome_.insert(result.ordinal);
  }

  struct Place {
    std::size_t index;
    int line;
  };

  Problems problems_;
  const ImportOptions& options_;
  std::string stem_;  // of the file's name
  Run run_;
  int first_line_ = 0;
  std::optional<bool> has_ordinals_;  // whether the lines number their cases
  std::unordered_map<std::string, Place> place_;
  std::unordered_set<std::int64_t> has_own_outcome_;  // ordinals
  std::unordered_set<std::int64_t> older_;            // likewise: of an earlier schema
  bool sessions_are_older_ = false;
};

}  // namespace

Result<Run> import_json_lines(std::string_view text, const std::string& file_name,
                              const ImportOptions& options) {
  JsonLinesImport reader(file_name, options);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!trim(line).empty()) reader.add_line(line, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

}  // namespace assay::store
