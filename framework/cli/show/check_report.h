#pragma once

#include <string>
#include <vector>

#include "wire/check_messages.h"

namespace assay::cli {

// Prints a line per finished check, then the failures with their smallest case.
class CheckReport {
 public:
  // terminal: also shows the running check on stderr.
  CheckReport(std::string title, bool terminal) : title_(std::move(title)), terminal_(terminal) {}

  void started(const wire::CheckSuite& suite);
  void doing(const wire::CheckBegins& begins);
  void finished(const wire::CheckResult& result);
  void conclude();

  bool failed() const;
  // Whether a check other than creating the plugin ran on this device.
  bool applied() const;

 private:
  void print_line(const wire::CheckResult& result);
  void print_failure(const wire::CheckResult& result) const;
  void print_remarks() const;
  std::string sentence(const std::string& check) const;

  std::string title_;
  bool terminal_;
  std::size_t name_width_ = 0;
  std::vector<wire::CheckTitle> titles_;
  std::vector<wire::CheckResult> results_;
};

}  // namespace assay::cli
