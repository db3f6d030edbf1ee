#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/experiment.h"

namespace assay::config {

const Value& Plan::at(std::size_t case_index, std::size_t column) const {
  return columns_[column].values[cells_[case_index * column_count_ + column]];
}

const Value& Plan::get(std::size_t case_index, std::string_view name) const {
  static const Value none;
  const auto found = column(name);
  return found ? at(case_index, *found) : none;
}

std::optional<std::size_t> Plan::column(std::string_view name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const Column& candidate) { return candidate.name == name; });
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::map<std::string, Value> Plan::parameters(std::size_t case_index) const {
  std::map<std::string, Value> parameters;
  for (std::size_t i = 0; i < column_count_; ++i) {
    const Value& value = at(case_index, i);
    if (!std::holds_alternative<std::monostate>(value)) parameters[columns_[i].name] = value;
  }
  return parameters;
}

void Plan::add_case(const std::map<std::string, Value>& parameters) {
  for (const auto& [name, value] : parameters) {
    if (!column(name)) add_column(name);
  }
  std::vector<std::uint32_t> row(column_count_, 0);
  for (const auto& [name, value] : parameters) {
    const std::size_t place = *column(name);
    row[place] = intern(place, value);
  }
  add_row(row);
}

void Plan::add_row(const std::vector<std::uint32_t>& indices) {
  cells_.insert(cells_.end(), indices.begin(), indices.end());
}

std::size_t Plan::add_column(std::string name) {
  const std::size_t rows = size();
  std::vector<std::uint32_t> wider;
  wider.reserve(rows * (column_count_ + 1));
  for (std::size_t i = 0; i < rows; ++i) {
    const auto begin = cells_.begin() + static_cast<std::ptrdiff_t>(i * column_count_);
    wider.insert(wider.end(), begin, begin + static_cast<std::ptrdiff_t>(column_count_));
    wider.push_back(0);
  }
  cells_ = std::move(wider);
  columns_.push_back({std::move(name), {Value()}});
  indices_.push_back({{Value(), 0}});
  return column_count_++;
}

std::string Plan::describe(std::size_t case_index) const {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < column_count_; ++i) {
    // values[0] is monostate: two other values mean that the column varies.
    const Value& value = at(case_index, i);
    if (columns_[i].values.size() > 2 && value.index() != 0) {
      words.push_back(columns_[i].name + "=" + to_text(value));
    }
  }
  return words.empty() ? "the only case" : join(words, " ");
}

std::uint32_t Plan::intern(std::size_t column, const Value& value) {
  std::vector<Value>& values = columns_[column].values;
  const auto [entry, added] =
      indices_[column].try_emplace(value, static_cast<std::uint32_t>(values.size()));
  if (added) values.push_back(value);
  return entry->second;
}

std::optional<std::uint32_t> Plan::index_of(std::size_t column, const Value& value) const {
  const auto found = indices_[column].find(value);
  if (found == indices_[column].end()) return std::nullopt;
  return found->second;
}

}  // namespace assay::config
