#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay::faults {

// What one test did, what came of it and what it cost: a row of docs/reliability.md.
struct Record {
  std::string test;   // "Suite.Name", as googletest has it
  std::string group;  // a table of the page
  std::string done;
  std::string outcome;  // of the case, or the exit code where there is no case
  std::string reason;   // as the user reads it
  std::string others;   // the other cases of the run
  std::string lost;     // "nothing"
  std::string commit;   // of the build it was recorded with; "" in records that do not say
  std::string date;     // "2026-01-31"
};

// Whether ASSAY_FAULT_RECORDS names a file for records.
bool is_recording();
// Appends it to that file, with the build's commit and the date, unless the running test has
// failed.
void write_record(const Record& record);

// What stands in tests/faults/records of a test.
std::optional<Record> committed_record(const std::string& test);
// Of a reason what is the same each time: without figures, without the moment at which a case was
// stopped, and without what a program printed that is no text.
std::string cause_of(const std::string& reason);

// The records of a file of JSON lines, of each test the last.
std::vector<Record> read_records(const std::filesystem::path& file);

// The page with a table for each group, rows in the order of `tests`; a group that it does not know
// stands at its end.
std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests);

}  // namespace assay::faults
