#include "report/page/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "report/data/cell.h"
#include "report/data/select.h"
#include "report/document/markdown_table.h"
#include "report/findings/findings.h"

namespace assay::report {
namespace {

constexpr std::size_t most_named = 4;

// Reasons that differ in their numbers alone count as one.
struct Cause {
  std::string mark;
  std::string reason;  // of the first
  bool alike = false;  // also stands for reasons with other numbers
  std::set<std::pair<std::uint32_t, std::uint32_t>> results;  // case and pass
  std::vector<std::string> places;
};

std::string place_with_pass(const Records& records, std::uint32_t id) {
  std::vector<std::string> parts{place_of(records, id, {}), to_text(records.value(id, pass_axis))};
  std::erase(parts, "");
  return join(parts, ", ");
}

void note(const Records& records, std::uint32_t id, const store::Mark& mark,
          std::vector<Cause>& causes) {
  const std::string kind = without_numbers(mark.reason);
  auto at = std::ranges::find_if(causes, [&](const Cause& known) {
    return known.mark == mark.mark && without_numbers(known.reason) == kind;
  });
  if (at == causes.end()) at = causes.insert(at, {mark.mark, mark.reason, false, {}, {}});
  at->alike = at->alike || at->reason != mark.reason;
  if (!at->results.insert({records[id].case_number, records.code(id, pass_axis)}).second) return;
  at->places.push_back(place_with_pass(records, id));
}

std::string line_of(const Cause& cause, std::size_t all) {
  std::vector<std::string> named(
      cause.places.begin(), cause.places.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(most_named, cause.places.size())));
  std::erase(named, "");
  std::string where = join(named, "; ");
  const std::size_t more = cause.places.size() - std::min(most_named, cause.places.size());
  if (more > 0) where += fmt::format("; and {} more", more);
  return fmt::format("**{} {}** ({} of {} results{}): {}{}", mark_sign, cause.mark,
                     cause.results.size(), all, where.empty() ? "" : ": " + escape_cell(where),
                     cause.alike ? "for example, " : "", escape_cell(cause.reason));
}

}  // namespace

std::set<std::string> shown_marks(const std::vector<Section>& sections) {
  std::set<std::string> marks;
  for (const Section& section : sections) {
    std::visit(
        [&](const auto& shown) {
          if constexpr (requires { shown.marks; })
            marks.insert(shown.marks.begin(), shown.marks.end());
        },
        section);
  }
  return marks;
}

std::vector<Section> quality_sections(const Records& records, const std::set<std::string>& marks) {
  std::vector<Cause> causes;
  std::set<std::pair<std::uint32_t, std::uint32_t>> all;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    if (records[id].series->outcome != Outcome::ok) continue;
    all.insert({records[id].case_number, records.code(id, pass_axis)});
    for (const store::Mark& mark : marks_of(records, {id})) {
      if (marks.contains(mark.mark)) note(records, id, mark, causes);
    }
  }
  if (causes.empty()) return {};
  List lines;
  for (const Cause& cause : causes) lines.items.push_back(line_of(cause, all.size()));
  return {Heading{2, "Data quality"}, std::move(lines)};
}

}  // namespace assay::report
