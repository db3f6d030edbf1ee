#pragma once

// config says what an experiment is and expands it into a plan of cases; config/read makes it from
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

// Where presets are looked up and what the host knows of plugins.
struct Environment {
  const catalogue::Catalogue* catalogue = nullptr;
  std::filesystem::path configs;  // folder with models/ and layouts/
  // Configs that are known already, as Experiment::presets has them: of an experiment that was
  // stored with them. They come before the files of these names.
  std::map<std::string, nlohmann::json> presets = {};
};

// One choice on an axis: the axis' own value, and the plugin options that come with it
// ("attention.block_m" for `attention: {flash: {block_m: 64}}`).
struct Choice {
  Value value;
  std::vector<std::pair<std::string, Value>> options;
};

// One or (when zipped) several names that move together.
struct Axis {
  std::vector<std::string> names;
  std::vector<std::vector<Choice>> rows;  // rows[i][j]: value of names[j] in step i
};

struct Override {
  std::vector<std::string> settings;  // "name=YAML value", as on the command line
  std::vector<std::string> filters;   // expressions over a case's names
};

// "seq_len" of "seq_len=[128, 256]"; of a text without an equals sign all of it.
std::string name_of_setting(std::string_view setting);

// An experiment that has been checked against the catalogue: every name exists, every value has
// its type and is within bounds.
struct Experiment {
  std::string name;
  std::string title;
  std::string file;  // as given
  std::string text;  // as written
  std::string workload;
  std::vector<Axis> matrix;
  std::vector<std::map<std::string, Value>> exclude;  // a case that has all of one is dropped
  SourceLocation exclude_where;
  // Added afterwards: whole cases, what an entry does not name filled in. Without a matrix the
  // include entries are all there is.
  std::vector<std::map<std::string, Value>> include;
  std::map<std::string, Value> fixed;  // everything that is the same in all cases, defaults too
  std::set<std::string> pinned;        // named in matrix, in fixed or by --set
  std::vector<std::string> passes;
  std::vector<std::string> filters;
  std::map<std::string, nlohmann::json>
      presets;                         // "model/small" → its parsed config, for each one named
  std::size_t case_limit = 1'000'000;  // `limits: {cases: N}`
  yaml::Node report;                   // null: the default report
};

// What an experiment's text says itself, whatever the catalogue and --set make of it.
struct Written {
  std::string workload;
  std::vector<std::string> axes;  // of the matrix, in the order written
  // Those an axis is given in matrix, fixed, include and measure, each once: a run may have left
  // some of them out.
  std::map<std::string, std::vector<Value>> values;
  std::optional<std::vector<std::string>> passes;  // where it names them
  SourceLocation machine;                          // of the matrix's values of `machine`
  yaml::Node report;                               // null: the default report
};

// An experiment, or what is wrong with it, and what its text says in either case.
struct Reading {
  Written written;
  Result<Experiment> experiment;
};

Reading read_text(std::string_view text, const std::string& file_name,
                  const Environment& environment, const Override& override = {});

Result<Experiment> read_experiment(const std::string& path, const Environment& environment,
                                   const Override& override = {});
Result<Experiment> parse_experiment(std::string_view text, const std::string& file_name,
                                    const Environment& environment, const Override& override = {});

// The text that a run was stored with; none says nothing. Errors are of YAML and of keys.
Result<Written> read_written(const std::string& text, const std::string& file_name);

// The matrix expanded: `columns` names what differs between cases or is fixed; a case is an index
// into each column's distinct values, so that 100,000 cases stay small.
class Plan {
 public:
  struct Column {
    std::string name;
    std::vector<Value> values;  // distinct; values[0] is monostate: not applicable
  };

  std::size_t size() const { return column_count_ == 0 ? 0 : cells_.size() / column_count_; }
  const std::vector<Column>& columns() const { return columns_; }
  const Value& at(std::size_t case_index, std::size_t column) const;
  // Where the value stands among those of its column: equal exactly where the values are.
  std::uint32_t place_of(std::size_t case_index, std::size_t column) const {
    return cells_[case_index * column_count_ + column];
  }
  // By name; monostate where the case has none.
  const Value& get(std::size_t case_index, std::string_view name) const;
  std::optional<std::size_t> column(std::string_view name) const;
  // All names that apply, sorted.
  std::map<std::string, Value> parameters(std::size_t case_index) const;
  // "model=small seq_len=128 attention=flash": what differs between the cases.
  std::string describe(std::size_t case_index) const;

  void add_case(const std::map<std::string, Value>& parameters);
  void add_row(const std::vector<std::uint32_t>& indices);
  std::size_t add_column(std::string name);
  std::uint32_t intern(std::size_t column, const Value& value);
  // Without adding it.
  std::optional<std::uint32_t> index_of(std::size_t column, const Value& value) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::map<Value, std::uint32_t>> indices_;  // of each column's values
  std::vector<std::uint32_t> cells_;                     // size() × columns, row-major
  std::size_t column_count_ = 0;
};

// Product of the axes in the order written, less `exclude`, plus `include`, less what the filters
// drop. An empty result and one beyond the case limit are errors.
Result<Plan> expand(const Experiment& experiment);

// JSON Schema (draft 7) of an experiment file, for editors. `report` is that of its section of this
// name, which this room knows nothing of; its `definitions` become those of the whole.
nlohmann::json experiment_schema(const Environment& environment, nlohmann::json report = {});

}  // namespace assay::config
