#include "config/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "expression/expression.h"
#include "expression/unknown_names.h"

namespace assay::config {
namespace {

using Row = std::vector<std::uint32_t>;

std::string bytes_of(const Row& row) {
  return {reinterpret_cast<const char*>(row.data()), row.size() * sizeof(Row::value_type)};
}

struct Assignment {
  std::size_t column;
  std::uint32_t index;
};

// The steps of a kind's axis whose variants have a dotted option.
struct Condition {
  std::size_t axis;
  std::vector<bool> steps;
};

struct OptionAxis {
  std::size_t axis;
  std::size_t column;
  Row indices;  // by step
  std::vector<Condition> conditions;
};

struct CompiledFilter {
  Expression expression;
  std::vector<std::optional<std::size_t>> columns;  // of the expression's names
  std::string text;
};

bool has_option(const Choice& choice, const std::string& name) {
  return std::any_of(choice.options.begin(), choice.options.end(),
                     [&](const auto& option) { return option.first == name; });
}

class Expander {
 public:
  explicit Expander(const Experiment& experiment) : experiment_(experiment) {}

  Result<Plan> run() {
    name_columns();
    read_axes();
    read_excludes();
    if (auto compiled = compile_filters(); !compiled) return tl::unexpected(compiled.error());
    if (auto walked = walk_matrix(); !walked) return tl::unexpected(walked.error());
    if (auto added = add_includes(); !added) return tl::unexpected(added.error());
    if (plan_.size() == 0) return nothing_left();
    for (const LeftOut& left_out : experiment_.left_out) drop_defaults(left_out);
    return std::move(plan_);
  }

 private:
  tl::unexpected<Error> nothing_left() const {
    std::string message = fmt::format("no case of '{}' is left", experiment_.name);
    if (!reached_filters_) {
      return fail_at(experiment_.exclude_where, std::move(message), "exclude drops all of them");
    }
    const std::string unknown = unknown_in_filters();
    return fail(ExitCode::bad_input, std::move(message),
                (experiment_.exclude.empty() ? "--filter drops all of them"
                                             : "--filter drops what exclude leaves") +
                    (unknown.empty() ? unknown : ": " + unknown));
  }

  std::string unknown_in_filters() const {
    std::vector<std::string> unknown;
    for (const CompiledFilter& filter : filters_) {
      const std::string words = unknown_names(
          filter.expression, [this](const std::string& name) { return texts_of(name); });
      if (!words.empty()) unknown.push_back(words);
    }
    return join(unknown, "; ");
  }

  std::vector<std::string> texts_of(const std::string& name) const {
    std::vector<std::string> texts;
    const auto place = plan_.column(name);
    if (!place) return texts;
    for (const Value& value : plan_.columns()[*place].values) {
      if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
    }
    return texts;
  }

  std::size_t column(const std::string& name) {
    const auto known = plan_.column(name);
    return known ? *known : plan_.add_column(name);
  }

  void name_columns() {
    for (const Axis& axis : experiment_.matrix) {
      for (const std::string& name : axis.names) column(name);
    }
    for (const Axis& axis : experiment_.matrix) {
      for (const std::vector<Choice>& step : axis.rows) {
        for (const Choice& choice : step) {
          for (const auto& [name, value] : choice.options) column(name);
        }
      }
    }
    for (const auto& [name, value] : experiment_.fixed) column(name);
    for (const auto& entry : experiment_.include) {
      for (const auto& [name, value] : entry) column(name);
    }
    const std::map<std::string, Value> unnamed = defaults_in_filters();
    for (const auto& [name, value] : unnamed) column(name);
    base_.assign(plan_.columns().size(), 0);
    for (const auto* values : {&experiment_.fixed, &unnamed}) {
      for (const auto& [name, value] : *values) {
        base_[column(name)] = plan_.intern(column(name), value);
      }
    }
  }

  // What filters name and no case does, because it is left out at its default.
  std::map<std::string, Value> defaults_in_filters() const {
    std::map<std::string, Value> defaults;
    for (const std::string& text : experiment_.filters) {
      const auto expression = Expression::compile(text);
      if (!expression) continue;  // compile_filters says so
      for (const std::string& name : expression->names()) {
        const auto left_out = std::ranges::find(experiment_.left_out, name, &LeftOut::name);
        if (left_out == experiment_.left_out.end() || !left_out->kind.empty()) continue;
        if (!plan_.column(name)) defaults.emplace(name, left_out->defaults.at(""));
      }
    }
    return defaults;
  }

  std::vector<Condition> conditions_of(const std::string& option) const {
    const std::string kind = option.substr(0, option.find('.'));
    std::vector<Condition> conditions;
    for (std::size_t a = 0; a < experiment_.matrix.size(); ++a) {
      const Axis& axis = experiment_.matrix[a];
      const auto name = std::find(axis.names.begin(), axis.names.end(), kind);
      if (name == axis.names.end() || kind == option) continue;
      Condition condition{a, {}};
      for (const std::vector<Choice>& step : axis.rows) {
        condition.steps.push_back(
            has_option(step[static_cast<std::size_t>(name - axis.names.begin())], option));
      }
      conditions.push_back(std::move(condition));
    }
    return conditions;
  }

  void read_axes() {
    steps_.resize(experiment_.matrix.size());
    for (std::size_t a = 0; a < experiment_.matrix.size(); ++a) {
      const Axis& axis = experiment_.matrix[a];
      steps_[a].resize(axis.rows.size());
      for (std::size_t n = 0; n < axis.names.size(); ++n) read_name(a, n);
    }
  }

  void read_name(std::size_t a, std::size_t n) {
    const Axis& axis = experiment_.matrix[a];
    const std::size_t place = column(axis.names[n]);
    OptionAxis option{a, place, {}, conditions_of(axis.names[n])};
    for (std::size_t step = 0; step < axis.rows.size(); ++step) {
      const Choice& choice = axis.rows[step][n];
      const std::uint32_t index = plan_.intern(place, choice.value);
      if (!option.conditions.empty()) {
        option.indices.push_back(index);
        continue;
      }
      steps_[a][step].push_back({place, index});
      for (const auto& [name, value] : choice.options) {
        steps_[a][step].push_back({column(name), plan_.intern(column(name), value)});
      }
    }
    if (!option.conditions.empty()) option_axes_.push_back(std::move(option));
  }

  void read_excludes() {
    for (const auto& entry : experiment_.exclude) {
      std::vector<std::size_t> columns;
      Row indices;
      for (const auto& [name, value] : entry) {
        const auto place = plan_.column(name);
        const auto index = place ? plan_.index_of(*place, value) : std::nullopt;
        if (!index) break;  // no case matches the entry
        columns.push_back(*place);
        indices.push_back(*index);
      }
      if (columns.size() == entry.size()) excludes_[columns].insert(bytes_of(indices));
    }
  }

  Result<void> compile_filters() {
    for (const std::string& text : experiment_.filters) {
      auto expression = Expression::compile(text);
      if (!expression) return tl::unexpected(expression.error());
      CompiledFilter filter{std::move(*expression), {}, text};
      for (const std::string& name : filter.expression.names()) {
        filter.columns.push_back(plan_.column(name));
      }
      filters_.push_back(std::move(filter));
    }
    return {};
  }

  bool excluded(const Row& row) const {
    return std::any_of(excludes_.begin(), excludes_.end(), [&](const auto& entries) {
      const auto& [columns, excluded_values] = entries;
      Row indices;
      for (const std::size_t place : columns) indices.push_back(row[place]);
      return excluded_values.contains(bytes_of(indices));
    });
  }

  Result<bool> passes_filters(const Row& row) const {
    std::vector<Value> values;
    for (const CompiledFilter& filter : filters_) {
      values.clear();
      for (const auto& place : filter.columns) {
        values.push_back(place ? plan_.columns()[*place].values[row[*place]] : Value());
      }
      auto kept = filter.expression.evaluate(values);
      if (kept && !std::holds_alternative<bool>(*kept) &&
          !std::holds_alternative<std::monostate>(*kept)) {
        kept = fail(ExitCode::bad_input,
                    fmt::format("it gives {}, not true or false", to_text(*kept)));
      }
      if (!kept) {
        const Diagnostic& diagnostic = kept.error().diagnostics[0];
        return fail(ExitCode::bad_input,
                    fmt::format("the filter '{}': {}", filter.text, diagnostic.message),
                    diagnostic.hint);
      }
      const bool* truth = std::get_if<bool>(&*kept);
      if (!truth || !*truth) return false;
    }
    return true;
  }

  Result<void> keep(const Row& row) {
    reached_filters_ = true;
    const auto passes = passes_filters(row);
    if (!passes) return tl::unexpected(passes.error());
    // Rows repeat through `include` and where an option's axis does not apply.
    const bool may_repeat = !option_axes_.empty() || !experiment_.include.empty();
    if (*passes && (!may_repeat || seen_.insert(bytes_of(row)).second)) plan_.add_row(row);
    return {};
  }

  Result<void> walk_matrix() {
    const bool only_includes = experiment_.matrix.empty() && !experiment_.include.empty();
    std::vector<std::size_t> at(experiment_.matrix.size(), 0);
    bool done = only_includes;
    while (!done) {
      const Row row = row_at(at);
      if (!excluded(row)) {
        if (auto kept = keep(row); !kept) return kept;
      }
      done = true;
      for (std::size_t a = at.size(); a > 0 && done; --a) {
        at[a - 1] = (at[a - 1] + 1) % steps_[a - 1].size();
        done = at[a - 1] == 0;
      }
    }
    return {};
  }

  Row row_at(const std::vector<std::size_t>& at) const {
    Row row = base_;
    for (std::size_t a = 0; a < at.size(); ++a) {
      for (const Assignment& cell : steps_[a][at[a]]) row[cell.column] = cell.index;
    }
    for (const OptionAxis& option : option_axes_) {
      const bool applies = std::all_of(
          option.conditions.begin(), option.conditions.end(),
          [&](const Condition& condition) { return condition.steps[at[condition.axis]]; });
      if (applies) row[option.column] = option.indices[at[option.axis]];
    }
    return row;
  }

  Result<void> add_includes() {
    for (const auto& entry : experiment_.include) {
      Row row(base_.size(), 0);
      for (const auto& [name, value] : entry) row[column(name)] = plan_.intern(column(name), value);
      if (auto kept = keep(row); !kept) return kept;
    }
    return {};
  }

  // Last, so that exclude and filters still see the defaults.
  void drop_defaults(const LeftOut& left_out) {
    const auto place = plan_.column(left_out.name);
    if (!place) return;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const auto fallback =
          left_out.defaults.find(left_out.kind.empty() ? "" : to_text(plan_.get(i, left_out.kind)));
      if (fallback != left_out.defaults.end() && plan_.at(i, *place) == fallback->second) {
        plan_.clear(i, *place);
      }
    }
  }

  const Experiment& experiment_;
  Plan plan_;
  Row base_;
  std::vector<std::vector<std::vector<Assignment>>> steps_;  // by axis and step
  std::vector<OptionAxis> option_axes_;
  // By the columns of the entries.
  std::map<std::vector<std::size_t>, std::unordered_set<std::string>> excludes_;
  std::vector<CompiledFilter> filters_;
  std::unordered_set<std::string> seen_;
  bool reached_filters_ = false;  // exclude left something
};

}  // namespace

std::size_t count_cases(const Experiment& experiment) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  std::size_t count = experiment.matrix.empty() && !experiment.include.empty() ? 0 : 1;
  for (const Axis& axis : experiment.matrix) {
    if (axis.rows.empty()) return experiment.include.size();
    if (count > most / axis.rows.size()) return most;
    count *= axis.rows.size();
  }
  return count > most - experiment.include.size() ? most : count + experiment.include.size();
}

std::optional<Diagnostic> over_limit(const Experiment& experiment) {
  const std::size_t count = count_cases(experiment);
  if (count <= experiment.case_limit) return std::nullopt;
  const std::string size = count == std::numeric_limits<std::size_t>::max()
                               ? "more than 2^64 cases"
                               : fmt::format("{} cases", count);
  return Diagnostic{{},
                    fmt::format("the matrix has {}, the limit is {}", size, experiment.case_limit),
                    "shorten an axis, or raise limits: {cases: ...}"};
}

Result<Plan> expand(const Experiment& experiment) {
  if (auto refused = over_limit(experiment)) {
    return fail(ExitCode::bad_input, std::move(refused->message), std::move(refused->hint));
  }
  return Expander(experiment).run();
}

std::map<std::string, Value> values_left_out(const Experiment& experiment) {
  std::map<std::string, Value> values;
  for (const LeftOut& left_out : experiment.left_out) {
    const auto names_it = [&](const Axis& axis) {
      return std::ranges::count(axis.names, left_out.name) > 0;
    };
    if (left_out.kind.empty() && std::ranges::any_of(experiment.matrix, names_it)) {
      values.emplace(left_out.name, left_out.defaults.at(""));
    }
  }
  return values;
}

}  // namespace assay::config
