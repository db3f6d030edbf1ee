#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "report/data/records.h"
#include "store/records/records.h"

// docs/catalogue.yaml and the page made of it.
namespace assay::report::testing_support {

// An axis and the values that are needed of it; of the values within one list one is enough.
struct NeededAxis {
  std::string name;
  std::vector<std::vector<std::string>> values;
};

// Every combination of the axes' values.
struct Need {
  std::vector<NeededAxis> axes;
  std::size_t machines = 1;
};

struct CatalogueRow {
  std::string id;  // "": beside the catalogue
  std::string what;
  std::vector<std::string> layouts, golden, tests, experiments;
  std::string note;
  std::vector<Need> needs;
};

struct CatalogueSection {
  std::string title, text;
  std::vector<CatalogueRow> rows;
};

Result<std::vector<CatalogueSection>> read_catalogue(const std::filesystem::path& file);

// A run under reports/.
struct KeptRun {
  std::string machine;  // the folder "h200"
  std::string folder;   // of the report within it
  std::shared_ptr<const store::Run> run;
  std::shared_ptr<const Records> records;  // of the run
};

Result<std::vector<KeptRun>> kept_runs(const std::filesystem::path& reports);

// What the kept runs hold of a row's needs.
struct Coverage {
  std::vector<const KeptRun*> runs;  // those that are needed for it
  std::size_t needed = 0, found = 0, out_of_memory = 0;
  std::vector<std::string> missing;  // in words: "model 2.7B", "model xl with pass backward"
};

Coverage coverage_of(const CatalogueRow& row, const std::vector<KeptRun>& kept);

// `root`: of the source tree.
std::string catalogue_page(const std::filesystem::path& root,
                           const std::vector<CatalogueSection>& sections,
                           const std::vector<KeptRun>& kept);

}  // namespace assay::report::testing_support
