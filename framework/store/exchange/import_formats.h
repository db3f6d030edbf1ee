#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "store/exchange/import.h"
#include "store/records/records.h"

namespace assay::store {

// The mistakes in one file: keeps the first 20, counts the others.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(int line, int column, std::string message, std::string hint = {});
  void add(int line, int column, const Error& error);

  bool none() const { return count_ == 0; }
  Error error() const;

 private:
  std::string file_;
  Error error_;
  std::size_t count_ = 0;
};

// Both take text without a byte order mark, with every line within the limit.
Result<Run> import_json_lines(std::string_view text, const std::string& file_name,
                              const ImportOptions& options);
Result<Run> import_csv(std::string_view text, const std::string& file_name,
                       const ImportOptions& options);

// The statistics that assay computes from samples itself.
inline constexpr auto computed_statistics = std::to_array<std::string_view>(
    {"mean", "std", "std_population", "median", "min", "max", "sum", "n", "p5", "p95", "q1", "q3",
     "iqr", "ci_low", "ci_high", "median_ci_low", "median_ci_high"});
void drop_computed_statistics(std::map<std::string, double>& statistics);

}  // namespace assay::store
