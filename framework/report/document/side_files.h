#pragma once

#include <filesystem>
#include <string>

namespace assay::report {

// Where a report writes the files beside its document: pictures, tables in other forms.
struct SideFiles {
  std::filesystem::path path;  // the folder; empty: none are written
  std::string prefix = {};     // of the files' names: "notes-"
};

}  // namespace assay::report
