#pragma once

#include <string>
#include <vector>

#include "wire/check_messages.h"

namespace assay::cli {

// What `assay check` prints: a line a check as it ends, then each failure with its smallest case.
class CheckReport {
 public:
  // terminal: also keep a line on stderr that says what runs.
  CheckReport(std::string title, bool terminal) : title_(std::move(title)), terminal_(terminal) {}

  void started(const wire::CheckSuite& suite);
  void doing(const wire::CheckBegins& begins);
  void finished(const wire::CheckResult& result);
  void conclude();

  bool failed() const;
  // Whether anything but making the plugin could be tried on this device.
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
