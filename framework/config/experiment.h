#pragma once

// config defines an experiment and expands it into a plan of cases; config/read reads one from
// YAML. It depends on catalogue and expression. Start with Experiment and Plan.

#include <assay/value.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catalogue/catalogue.h"
#include "yaml/document.h"

namespace assay::config {

struct Environment {
  const catalogue::Catalogue* catalogue = nullptr;
  std::filesystem::path configs;  // folder with models/ and layouts/
  // Stored configs, as in Experiment::presets; they precede files of the same name.
  std::map<std::string, nlohmann::json> presets = {};
};

// A value of an axis and its plugin options, such as "attention.block_m".
struct Choice {
  Value value;
  std::vector<std::pair<std::string, Value>> options;

  bool operator==(const Choice&) const = default;
};

// One name, or several tied by zip.
struct Axis {
  std::vector<std::string> names;
  std::vector<std::vector<Choice>> rows;  // rows[i][j]: value of names[j] in step i
};

// A name that a case does not hold at its default (ParameterInfo::left_out_at_default).
struct LeftOut {
  std::string name;
  std::string kind;                       // of an option; else ""
  std::map<std::string, Value> defaults;  // by variant of the kind; "" without one
};

// What the chapter of a suite changes in its experiment.
struct Changes {
  std::vector<yaml::Node::Entry> settings;  // name and value
  std::vector<yaml::Node> filters;          // scalars
  yaml::Node report;                        // null: the experiment's
  std::string title;                        // "": the experiment's
  yaml::Node needs;  // an expression whose names are checked like a filter's; null: none
};

struct Override {
  std::vector<std::string> settings;  // "name=YAML value", as on the command line
  std::vector<std::string> filters;   // expressions over a case's names
  Changes of_chapter = {};            // apply before these
};

// "seq_len" of "seq_len=[128, 256]"; the whole text without an equals sign.
std::string name_of_setting(std::string_view setting);

// An experiment checked against the catalogue.
struct Experiment {
  std::string name;
  std::string title;
  std::string file;  // as given
  std::string text;  // as written
  std::string workload;
  std::vector<Axis> matrix;
  std::vector<std::map<std::string, Value>> exclude;  // drops each case that matches an entry
  SourceLocation exclude_where;
  // Whole cases, added after exclude; the only ones without a matrix.
  std::vector<std::map<std::string, Value>> include;
  std::vector<std::set<std::string>> include_named;  // by entry: what its text names
  std::map<std::string, Value> fixed;                // the same in all cases; with defaults
  std::set<std::string> pinned;  // named in matrix, in fixed or by --set, for all cases
  std::vector<LeftOut> left_out;
  std::vector<std::string> passes;
  std::vector<std::string> filters;
  std::map<std::string, nlohmann::json> presets;  // "model/small" → its parsed config
  std::size_t case_limit = 1'000'000;             // `limits: {cases: N}`
  yaml::Node report;                              // null: the default report
};

// What an experiment's text says, before the catalogue and --set apply.
struct Written {
  std::string workload;
  std::vector<std::string> axes;  // of the matrix, in the order written
  // Distinct values of each name in matrix, fixed, include and measure; a run may lack some.
  std::map<std::string, std::vector<Value>> values;
  std::optional<std::vector<std::string>> passes;  // if named
  SourceLocation machine;                          // of the matrix's values of `machine`
  yaml::Node report;                               // null: the default report
};

struct Reading {
  Written written;
  Result<Experiment> experiment;
};

Reading read_text(std::string_view text, const std::string& file_name,
                  const Environment& environment, const Override& override = {});
// Of a document, or of a part of one. `text`: for Experiment::text.
Reading read_document(const yaml::Document& document, std::string_view text,
                      const std::string& file_name, const Environment& environment,
                      const Override& override = {});

Result<Experiment> read_experiment(const std::string& path, const Environment& environment,
                                   const Override& override = {});
Result<Experiment> parse_experiment(std::string_view text, const std::string& file_name,
                                    const Environment& environment, const Override& override = {});

// Reads a run's stored text, which may be empty. Errors are of YAML and of keys.
Result<Written> read_written(const std::string& text, const std::string& file_name);

// The expanded matrix. A case is a row of indices into each column's distinct values.
class Plan {
 public:
  struct Column {
    std::string name;
    std::vector<Value> values;  // distinct; values[0] is monostate: not applicable
  };

  std::size_t size() const { return column_count_ == 0 ? 0 : cells_.size() / column_count_; }
  const std::vector<Column>& columns() const { return columns_; }
  const Value& at(std::size_t case_index, std::size_t column) const;
  // The value's index in its column: equal if and only if the values are.
  std::uint32_t place_of(std::size_t case_index, std::size_t column) const {
    return cells_[case_index * column_count_ + column];
  }
  // monostate if the case has no such name.
  const Value& get(std::size_t case_index, std::string_view name) const;
  std::optional<std::size_t> column(std::string_view name) const;
  // Without monostates.
  std::map<std::string, Value> parameters(std::size_t case_index) const;
  // What varies between cases: "model=small seq_len=128".
  std::string describe(std::size_t case_index) const;

  void add_case(const std::map<std::string, Value>& parameters);
  void add_row(const std::vector<std::uint32_t>& indices);
  std::size_t add_column(std::string name);
  // The case no longer has the column's name.
  void clear(std::size_t case_index, std::size_t column) {
    cells_[case_index * column_count_ + column] = 0;
  }
  std::uint32_t intern(std::size_t column, const Value& value);
  std::optional<std::uint32_t> index_of(std::size_t column, const Value& value) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::map<Value, std::uint32_t>> indices_;  // of each column's values
  std::vector<std::uint32_t> cells_;                     // size() × columns, row-major
  std::size_t column_count_ = 0;
};

// The product of the axes in the order written, less `exclude`, plus `include`, filtered. Fails
// without a case and above the case limit.
Result<Plan> expand(const Experiment& experiment);

// Whether an experiment of this workload may name it, or --set may: an axis, `measure.passes`, ….
bool has_name(const Environment& environment, std::string_view workload, std::string_view name);

// JSON Schema (draft 7) for editors. `report`: the schema of the report section.
nlohmann::json experiment_schema(const Environment& environment, nlohmann::json report = {});

}  // namespace assay::config
