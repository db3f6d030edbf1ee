#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "store/exchange/import.h"
#include "store/records/records.h"

// The parts of import_file.
namespace assay::store {

// Mistakes in one file: the first 20 in full, the others counted.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(int line, int column, std::string message, std::string hint = {});
  // Every diagnostic of an error, at this place.
  void add(int line, int column, const Error& error);

  bool none() const { return count_ == 0; }
  Error error() const;

 private:
  std::string file_;
  Error error_;
  std::size_t count_ = 0;
};

// Text without a byte order mark, with no line over the limit.
Result<Run> import_json_lines(std::string_view text, const std::string& file_name,
                              const ImportOptions& options);
Result<Run> import_csv(std::string_view text, const std::string& file_name,
                       const ImportOptions& options);

// Samples say it all: takes away the statistics that are computed from them.
void drop_computed_statistics(std::map<std::string, double>& statistics);

}  // namespace assay::store
