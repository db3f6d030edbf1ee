#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay::faults {

// A row of docs/reliability.md: what one test did and what it cost.
struct Record {
  std::string test;   // "Suite.Name", as googletest has it
  std::string group;  // a table of the page
  std::string done;
  std::string outcome;  // of the case, or the exit code where there is no case
  std::string reason;   // as the user reads it
  std::string others;   // the other cases of the run
  std::string lost;     // "nothing"
  std::string commit;   // of the recording build; "" where unknown
  std::string date;     // "2026-01-31"
};

// Whether ASSAY_FAULT_RECORDS names a file.
bool is_recording();
// Appends it to that file, with the build's commit and the date, unless the current test has
// failed.
void write_record(const Record& record);

// The committed record of a test.
std::optional<Record> committed_record(const std::string& test);
// The constant part of a reason: without figures, the moment a case was stopped and binary output.
std::string cause_of(const std::string& reason);

// The records of a file of JSON lines, the last of each test.
std::vector<Record> read_records(const std::filesystem::path& file);

// The page with a table for each group, rows in the order of `tests`, unknown groups last.
std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests);

}  // namespace assay::faults
