#include "config/read/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"

namespace assay::config {
namespace {

// Matrix indices; nullopt if an axis is missing or wrong.
std::optional<std::set<std::size_t>> places_of(const yaml::Node& entry, const Request& request,
                                               const std::vector<Axis>& matrix,
                                               std::set<std::string>& tied,
                                               Diagnostics& diagnostics) {
  std::set<std::size_t> places;
  bool complete = true;
  for (const yaml::Node& name : entry.items) {
    const auto axis = std::find_if(matrix.begin(), matrix.end(), [&](const Axis& candidate) {
      return std::find(candidate.names.begin(), candidate.names.end(), name.text) !=
             candidate.names.end();
    });
    // An axis of the request may have been refused before.
    complete = complete && axis != matrix.end();
    if (!find_setting(request.matrix, name.text)) {
      std::vector<std::string> names;
      for (const Setting& setting : request.matrix) names.push_back(setting.name);
      diagnostics.add(name.where, fmt::format("'{}' is not an axis of the matrix{}", name.text,
                                              suggestion(name.text, names)));
    } else if (!tied.insert(name.text).second) {
      diagnostics.add(name.where, fmt::format("'{}' is tied twice", name.text));
      complete = false;
    } else if (complete) {
      places.insert(static_cast<std::size_t>(axis - matrix.begin()));
    }
  }
  if (!complete) return std::nullopt;
  return places;
}

std::optional<Axis> joined(const std::set<std::size_t>& places, const std::vector<Axis>& matrix,
                           const SourceLocation& where, Diagnostics& diagnostics) {
  Axis together;
  std::size_t steps = 0;
  for (const std::size_t place : places) steps = std::max(steps, matrix[place].rows.size());
  together.rows.resize(steps);
  std::vector<std::string> lengths;
  bool equal = true;
  for (const std::size_t place : places) {
    const Axis& axis = matrix[place];
    lengths.push_back(fmt::format("{} {}", axis.names[0], axis.rows.size()));
    const bool is_single = axis.rows.size() == 1;  // and holds at every step
    equal = equal && (is_single || axis.rows.size() == steps);
    together.names.push_back(axis.names[0]);
    for (std::size_t i = 0; equal && i < steps; ++i) {
      together.rows[i].push_back(axis.rows[is_single ? 0 : i][0]);
    }
  }
  if (equal) return together;
  diagnostics.add(where, fmt::format("axes tied by zip must have equally many values, not {}",
                                     join(lengths, ", ")));
  return std::nullopt;
}

void refuse_repeated_steps(const Axis& axis, const SourceLocation& where,
                           Diagnostics& diagnostics) {
  for (auto row = axis.rows.begin(); row != axis.rows.end(); ++row) {
    if (std::find(axis.rows.begin(), row, *row) == row) continue;
    std::vector<std::string> values;
    for (const Choice& choice : *row) values.push_back(to_text(choice.value));
    diagnostics.add(where, fmt::format("the tied axes {} have the values {} twice",
                                       join(axis.names, ", "), join(values, ", ")));
  }
}

}  // namespace

void tie_axes(const Request& request, std::vector<Axis>& matrix, Diagnostics& diagnostics) {
  std::set<std::string> tied;
  for (const yaml::Node& entry : request.zip) {
    if (entry.items.size() < 2) {
      diagnostics.add(entry.where, "zip ties two axes or more", "such as [[model, batch]]");
      continue;
    }
    const auto places = places_of(entry, request, matrix, tied, diagnostics);
    if (!places) continue;
    auto together = joined(*places, matrix, entry.where, diagnostics);
    if (!together) continue;
    refuse_repeated_steps(*together, entry.where, diagnostics);
    matrix[*places->begin()] = std::move(*together);
    for (auto place = places->rbegin(); std::next(place) != places->rend(); ++place) {
      matrix.erase(matrix.begin() + static_cast<std::ptrdiff_t>(*place));
    }
  }
}

}  // namespace assay::config
