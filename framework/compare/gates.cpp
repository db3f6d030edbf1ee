#include "compare/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "compare/render.h"

namespace assay::compare {
namespace {

constexpr std::string_view undecided_word = "undecided";

Result<Gate> parse_gate(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string word(trim(text.substr(0, colon)));
  const auto verdict = verdict_from(word);
  if (!verdict) {
    std::vector<std::string> known = verdict_names();
    known.emplace_back(undecided_word);
    return fail(ExitCode::bad_input,
                fmt::format("'{}' is not a verdict{}", word, suggestion(word, known)));
  }
  Gate gate{*verdict};
  if (colon == std::string_view::npos) return gate;
  if (!has_direction(gate)) {
    return fail(ExitCode::bad_input, fmt::format("'{}' has no size", word),
                fmt::format("write '{}' alone", word));
  }
  const auto least = parse_percentage(text.substr(colon + 1));
  if (!least) return tl::unexpected(least.error());
  gate.least = *least;
  return gate;
}

double size_of(const Gate& gate, const Criteria& criteria) {
  return std::max(gate.least, criteria.least);
}

std::string undecided_line(const Gate& gate, const Comparison& comparison) {
  std::vector<std::size_t> undecided;
  const Criteria& criteria = comparison.question.criteria;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    if (is_undecided(comparison.rows[i], gate, criteria)) undecided.push_back(i);
  }
  if (undecided.empty()) return {};
  return fmt::format(
      "--fail-on {}: UNDECIDED for {} of {} ({}): the interval reaches {} {}, or is unknown; more "
      "interleaved runs a side (tools/alternate) would decide it",
      gate.text(), undecided.size(), comparison.rows.size(), row_names(comparison, undecided),
      percentage(size_of(gate, criteria)), to_text(gate.verdict));
}

// Whether any compared result can have the verdict: a time is never `higher`.
bool can_be_met(const Gate& gate, const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const Row& row) {
    return row.judged() && relation_meant(gate.verdict, row.unit);
  });
}

// A line if no gate with a direction can be met: they would always pass.
std::string impossible_line(const Gates& gates, const Comparison& comparison) {
  std::vector<std::string> impossible;
  for (const Gate& gate : gates.gates) {
    if (!has_direction(gate)) continue;
    if (can_be_met(gate, comparison)) return {};
    impossible.push_back(gate.text());
  }
  if (impossible.empty()) return {};
  return fmt::format(
      "--fail-on {}: no result compared here can have this verdict; times and rates are faster or "
      "slower, other metrics lower or higher",
      join(impossible, ","));
}

}  // namespace

std::string Gate::text() const {
  return std::string(to_text(verdict)) + (least > 0 ? fmt::format(":{:g}%", least * 100) : "");
}

bool has_direction(const Gate& gate) {
  return gate.verdict == Verdict::faster || gate.verdict == Verdict::slower ||
         gate.verdict == Verdict::lower || gate.verdict == Verdict::higher;
}

bool meets(const Row& row, const Gate& gate) {
  if (row.verdict != gate.verdict) return false;
  return gate.least == 0 || std::abs(std::log(row.judgement.ratio)) >= std::log1p(gate.least);
}

bool is_undecided(const Row& row, const Gate& gate, const Criteria& criteria) {
  const bool judged = row.judged();
  if (!judged || !has_direction(gate) || meets(row, gate)) return false;
  const auto direction = relation_meant(gate.verdict, row.unit);
  if (!direction) return false;
  const auto& [low, high] = row.judgement.interval;
  if (!std::isfinite(low) || !std::isfinite(high)) return true;
  const double size = 1 + size_of(gate, criteria);
  return *direction == Relation::higher ? high >= size : low <= 1 / size;
}

Result<Gates> parse_gates(const std::vector<std::string>& texts) {
  Gates gates;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ',')) {
      if (trim(part) == undecided_word) {
        gates.undecided = true;
        continue;
      }
      const auto gate = parse_gate(part);
      if (!gate) return tl::unexpected(gate.error());
      gates.gates.push_back(*gate);
    }
  }
  if (gates.undecided && std::none_of(gates.gates.begin(), gates.gates.end(), has_direction)) {
    return fail(ExitCode::bad_input, "'undecided' belongs to another --fail-on",
                "add a difference, such as slower:5%,undecided");
  }
  return gates;
}

GateFindings apply(const Gates& gates, const Comparison& comparison) {
  const auto& rows = comparison.rows;
  const bool none = std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.verdict == Verdict::not_compared;
  });
  if (none) return {{"nothing could be compared"}, true};
  std::vector<std::string> met;
  GateFindings found;
  if (std::string line = impossible_line(gates, comparison); !line.empty()) {
    found = {{std::move(line)}, true};
  }
  for (const Gate& gate : gates.gates) {
    const auto count =
        std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return meets(row, gate); });
    if (count > 0) {
      met.push_back(fmt::format("{} of {} {}{}", count, rows.size(), to_text(gate.verdict),
                                gate.least > 0 ? " by " + percentage(gate.least) : ""));
    }
    if (std::string line = undecided_line(gate, comparison); !line.empty()) {
      found.fails = found.fails || gates.undecided;
      found.lines.push_back(std::move(line));
    }
  }
  if (!met.empty()) {
    found.fails = true;
    found.lines.insert(found.lines.begin(), "--fail-on: " + join(met, "; "));
  }
  return found;
}

}  // namespace assay::compare
