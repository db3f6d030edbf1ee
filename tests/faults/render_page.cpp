#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "records.h"

namespace assay::faults {

namespace {

constexpr const char* head = R"(# Reliability

What was done to assay, what came of it, and what was lost. Each row is a test of `tests/faults`, which
runs the program itself; the tables are what the tests recorded (`tools/reliability`), not written by
hand. The rows of GPUs are from NVIDIA H200s.

Of every row it was checked that
- the outcome and its reason are in the database, in the progress line, in the report and in the exit
  code;
- each of the other cases is there, once, with its own outcome;
- the database passes SQLite's `integrity_check`;
- no process of the run is left, in whatever session.

Where plugins and ranks misbehave, the case stands between two good ones.
)";

// A plain cell of a Markdown table, on one line.
std::string cell(const std::string& text) {
  std::string made;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '|') {
      made += "\\|";
    } else if (letter == '<') {
      made += "&lt;";
    } else if (letter == '\n') {
      made += "; ";
    } else if (byte >= 0x20 && byte != 0x7f) {
      made += letter;
    }
  }
  return made;
}

std::string row(const Record& record) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", cell(record.done), cell(record.outcome),
                     cell(record.reason), cell(record.others), cell(record.lost));
}

}  // namespace

std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests) {
  std::vector<std::string> groups;
  std::vector<const Record*> ordered;
  for (const std::string& test : tests) {
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const Record& record) { return record.test == test; });
    if (found == records.end()) continue;
    ordered.push_back(&*found);
    if (std::find(groups.begin(), groups.end(), found->group) == groups.end()) {
      groups.push_back(found->group);
    }
  }
  std::string page = head;
  for (const std::string& group : groups) {
    page += fmt::format(
        "\n## {}\n\n| what was done | outcome | reason, as it is told | other cases | lost |\n"
        "|---|---|---|---|---|\n",
        group);
    for (const Record* record : ordered) {
      if (record->group == group) page += row(*record);
    }
  }
  return page;
}

}  // namespace assay::faults
