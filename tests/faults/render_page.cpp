#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "records.h"

namespace assay::faults {

namespace {

constexpr const char* head = R"(# Reliability

What was done to assay, what came of it, and what was lost. Each row is a test of `tests/faults`, which
runs the program itself; the tables are what the tests recorded (`tools/reliability`), not written by
hand. The rows of GPUs are from NVIDIA H200s.

Of every row it was checked that
- nothing of the run is left: no process, in whatever session; nothing that it put into `/dev/shm`; no
  port or socket on which one of its processes was seen to listen;
- the database, where the run could make one, passes SQLite's `integrity_check` and holds each case of a
  run once;
- no case is lost: each that a progress line told as finished is in the database, with that outcome
  (the last column says which are not).

Of a case that was struck, in the tables of plugins, ranks and external programs, also that
- its outcome and the whole of its reason are the same in the database, on the progress line, in the
  summary and in the report, below a table and among the findings; and the exit code is 1 where the
  outcome is a failure;
- a mark, such as `leak`, and its reason are in the database, on the progress line and below the table;
- the other cases of the run are `ok`, in the database and on their progress lines.

What was checked elsewhere stands above the table. A test fails where outcome or cause is not what its
row says.
)";

// The tables in their order, each with what was checked of its rows besides what the head says.
constexpr std::pair<const char*, const char*> tables[] = {
    {"Plugins", ""},
    {"Plugins on a GPU", ""},
    {"Ranks over Gloo", ""},
    {"Ranks over NCCL", ""},
    {"External programs", ""},
    {"Plugins as they are loaded",
     R"(Where plugins are listed: the exit code, the message and the file that it names; no database is made,
and the plugin is listed once it is not at fault any more.

)"},
    {"Inputs",
     R"(What is refused is refused within 30 s and 512 MiB, with this exit code and message, and no case is
stored. Text is stored as it is, and neither a shell nor SQL runs it.

)"},
    {"Results",
     R"(The exit code and the message. Every case that was told as finished is stored; where the run can go
on, `--resume` runs the rest and nothing twice. A database that this assay cannot read is byte for byte
what it was.

)"},
    {"Signals to the host",
     R"(The exit code. Every case that was told as finished is stored; `--resume` runs the rest, `ok`, and
nothing twice.

)"},
    {"Kills",
     R"(After each kill: every case that was told as finished is stored; what is run again is what was not
finished, or crashed.

)"},
};

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

// Which builds the rows were recorded with, and when.
class Origins {
 public:
  void add(const Record& record) {
    ++rows_[record.commit.empty() ? "an earlier commit" : record.commit + ", " + record.date];
  }
  std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [origin, rows] : rows_) {
      parts.push_back(rows_.size() == 1
                          ? origin
                          : fmt::format("{} ({} row{})", origin, rows, rows == 1 ? "" : "s"));
    }
    return parts.empty() ? "" : "\nRecorded with " + join(parts, "; ") + ".\n";
  }

 private:
  std::map<std::string, int> rows_;
};

}  // namespace

std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests) {
  std::map<std::string, std::string> rows;  // of each table
  std::map<std::string, Origins> origins;
  for (const std::string& test : tests) {
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const Record& record) { return record.test == test; });
    if (found == records.end()) continue;
    rows[found->group] += row(*found);
    origins[found->group].add(*found);
  }
  std::string page = head;
  for (const auto& [group, was_checked] : tables) {
    page += fmt::format(
        "\n## {}\n\n{}| what was done | outcome | reason, as it is told | other cases | lost |\n"
        "|---|---|---|---|---|\n{}{}",
        group, was_checked, rows[group], origins[group].text());
    rows.erase(group);
  }
  for (const auto& [group, forgotten] : rows) page += "no table for " + group + ":\n" + forgotten;
  return page;
}

}  // namespace assay::faults
