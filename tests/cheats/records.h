#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trial.h"

namespace assay::cheats {

// A verdict of a run, with the build that gave it.
struct Record {
  Verdict verdict;
  std::string commit;  // "" where unknown
  std::string date;    // "2026-01-31"
};

// Whether ASSAY_CHEAT_RECORDS names a file.
bool is_recording();
// Appends it to that file.
void write_record(const Verdict& verdict);

// Those committed, of the last recording with and without a GPU.
std::vector<Record> committed_records();

// Text of docs/trust.md between its markers, from the table and what was recorded.
std::string render_table(const Table& table, const std::vector<Record>& records);

}  // namespace assay::cheats
