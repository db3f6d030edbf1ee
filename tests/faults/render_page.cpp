#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "base/text.h"
#include "records.h"

namespace assay::faults {

namespace {

constexpr const char* head = R"(# Reliability

What was done to assay, and what came of it. Nothing was lost: every case that a progress line told
as finished is in the database, with that outcome. Each thing done is a test of `tests/faults`,
which runs the program itself. A short reason stands in italics behind all that ended for it; [the
records](../tests/faults/records) have each in full. The GPUs were NVIDIA H200s.
[running.md](running.md) explains the outcomes.

Each test checks also that
- nothing of the run is left: no process in any session, no file in `/dev/shm`, no port or socket;
- the database, where there is one, passes SQLite's `integrity_check` and holds each case once;
- database, progress line, summary, report and exit code tell the struck case alike, with the
  recorded cause;
- the other cases of the run are `ok`, unless their column says otherwise.
)";

// A table of the page: the records of a group whose `done` has this ending, which the heading
// names.
struct Table {
  const char* heading;
  const char* group;
  const char* ending;
  const char* was_checked;   // beyond the head of the page
  std::size_t longest = 52;  // of a reason, in bytes
};

constexpr std::size_t whole = 1000;  // for reasons written by tests

constexpr Table tables[] = {
    {"Plugins", "Plugins", "", ""},
    {"Plugins on a GPU", "Plugins on a GPU", "", ""},
    {"Ranks over Gloo", "Ranks over Gloo", "", ""},
    {"Ranks over NCCL", "Ranks over NCCL", "", ""},
    {"Ranks that a launcher starts", "Ranks that a launcher starts", "",
     "A node that disappears is a network namespace behind a veth pair.\n\n", whole},
    {"External programs", "External programs", "", ""},
    {"Libraries loaded where plugins are listed", "Plugins as they are loaded",
     ", where plugins are listed",
     "No database is made, and a repaired plugin is listed again.\n\n"},
    {"Libraries loaded in the worker of a case", "Plugins as they are loaded",
     ", in the worker of a case", ""},
    {"Inputs", "Inputs", "",
     R"(Refused within 30 s and 512 MiB, with no case stored. Text is stored as it is; neither a shell nor
SQL runs it.

)"},
    {"Results", "Results", "",
     R"(Where the run can go on, `--resume` runs the rest and nothing twice. A database that this assay
cannot read stays byte for byte as it was.

)",
     whole},
    {"Signals to the host", "Signals to the host", "",
     "`--resume` runs the rest, `ok`, and nothing twice.\n\n", whole},
    {"Kills", "Kills", "", "What is run again is what was not finished, or crashed.\n\n", whole},
};

// Text for a cell of a Markdown table, on one line.
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

// What was done, without the heading's ending, and the limit from the reason.
std::string done_of(const Record& record, const Table& table) {
  static const std::regex limit(
      "; (its case|the case|looking at it) may take [0-9]+ s| as its library is loaded");
  const std::size_t end = record.done.size() - std::string_view(table.ending).size();
  return cell(std::regex_replace(record.done.substr(0, end), limit, ""));
}

// A reason without its common beginning; "" where it is long or not text.
std::string short_reason(std::string reason, std::size_t longest) {
  for (const std::string_view start :
       {"the plugins cannot be listed:\n",
        "hostile_load.so: ", "looking at this plugin was stopped: ", "looking at this plugin ",
        "results database results/assay.db: ", "the worker ended with ", "the program ended with ",
        "CUDA error: "}) {
    if (reason.starts_with(start)) reason.erase(0, start.size());
  }
  static const std::regex signal(R"(signal [0-9]+ \((SIG[A-Z]+): [^)]*\))");
  static const std::regex fault("; what (runs|throws) .*");
  reason = std::regex_replace(std::regex_replace(reason, signal, "$1"), fault, "");
  const bool text = std::all_of(reason.begin(), reason.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x80;
  });
  return text && reason.size() <= longest ? cell(reason) : "";
}

// `text` without the two or more words that `before` begins with too.
std::string_view difference(std::string_view text, std::string_view before) {
  const auto parts = std::mismatch(text.begin(), text.end(), before.begin(), before.end());
  std::string_view same = text.substr(0, parts.first - text.begin());
  same = same.substr(0, same.rfind(' ') + 1);
  if (same.ends_with(" a ")) same.remove_suffix(2);
  if (std::count(same.begin(), same.end(), ' ') < 2) same = {};
  return text.substr(same.size());
}

// Tests whose reasons differ only in figures; the first reason is shown.
struct Cause {
  void add(const std::string& what) {
    done += fmt::format("; {}", difference(what, last));
    last = what;
  }

  std::string reason, shown;
  std::string done, last;
};

// Tests with the same outcome.
struct Row {
  bool takes(const Record& record) const {
    return record.outcome == outcome && record.others == others;
  }
  void add(const Record& record, const Table& table) {
    const std::string done = done_of(record, table), reason = cause_of(record.reason);
    const auto same = std::find_if(causes.begin(), causes.end(),
                                   [&](const Cause& cause) { return cause.reason == reason; });
    if (same == causes.end()) {
      causes.push_back({reason, short_reason(record.reason, table.longest), done, done});
    } else {
      same->add(done);
    }
  }
  std::string text(bool with_others) const {
    std::vector<std::string> lines;
    for (const Cause& cause : causes) {
      lines.push_back(cause.done + (cause.shown.empty() ? "" : ": *" + cause.shown + "*"));
    }
    return fmt::format("| {} | {} |{}\n", cell(outcome), join(lines, "<br>"),
                       with_others ? " " + cell(others) + " |" : "");
  }

  std::string outcome, others;
  std::vector<Cause> causes;
};

// What all rows say about the other cases goes above the table.
std::string text_of(const std::vector<Row>& rows) {
  const bool all_alike = std::all_of(
      rows.begin(), rows.end(), [&](const Row& row) { return row.others == rows.front().others; });
  std::string text = "| outcome | what was done |";
  text += all_alike ? "\n|---|---|\n" : " other cases |\n|---|---|---|\n";
  if (all_alike && !rows.empty()) {
    text = "Other cases of the run: " + rows.front().others + ".\n\n" + text;
  }
  for (const Row& row : rows) text += row.text(!all_alike);
  return text;
}

// The builds and dates of the records.
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
                          : fmt::format("{} ({} test{})", origin, rows, rows == 1 ? "" : "s"));
    }
    return parts.empty() ? "" : "\nRecorded with " + join(parts, "; ") + ".\n";
  }

 private:
  std::map<std::string, int> rows_;
};

}  // namespace

std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests) {
  std::map<const Table*, std::vector<Row>> rows;
  Origins origins;
  std::string forgotten;
  for (const std::string& test : tests) {
    const auto found = std::find_if(records.begin(), records.end(),
                                    [&](const Record& record) { return record.test == test; });
    if (found == records.end()) continue;
    const auto* table = std::find_if(std::begin(tables), std::end(tables), [&](const Table& one) {
      return found->group == one.group && found->done.ends_with(one.ending);
    });
    if (table == std::end(tables)) {
      forgotten += "no table for " + found->group + ": " + found->done + "\n";
      continue;
    }
    std::vector<Row>& own = rows[table];
    auto row =
        std::find_if(own.begin(), own.end(), [&](const Row& one) { return one.takes(*found); });
    if (row == own.end()) row = own.insert(row, {found->outcome, found->others, {}});
    row->add(*found, *table);
    origins.add(*found);
  }
  std::string page = head;
  for (const Table& table : tables) {
    page += fmt::format("\n## {}\n\n{}{}", table.heading, table.was_checked, text_of(rows[&table]));
  }
  return page + origins.text() + forgotten;
}

}  // namespace assay::faults
