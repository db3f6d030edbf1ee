#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace assay::config {

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void add(const SourceLocation& where, std::string message, std::string hint = {});
  void add(const Error& error);
  bool empty() const { return diagnostics_.empty(); }
  std::size_t size() const { return diagnostics_.size(); }

  // In the order of the file, then those of the command line and other files.
  Error take();

 private:
  std::string file_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace assay::config
