#pragma once

#include <filesystem>
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
};

// Appends it to the file that ASSAY_FAULT_RECORDS names, if one is named and the running test has
// not failed.
void write_record(const Record& record);

// The records of a file of JSON lines, of each test the last.
std::vector<Record> read_records(const std::filesystem::path& file);

// The page with a table for each group, rows in the order of `tests`; a group that it does not know
// stands at its end.
std::string render_page(const std::vector<Record>& records, const std::vector<std::string>& tests);

}  // namespace assay::faults
