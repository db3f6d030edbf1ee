#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/plugins/check_runner.h"
#include "wire/check_messages.h"

namespace assay::cli {

// Prints a line per finished check, then the failures with their smallest case. Of checks in which
// the worker ended in one way the first alone is told in full.
class CheckReport {
 public:
  // terminal: also shows the running check on stderr.
  CheckReport(std::string title, bool terminal) : title_(std::move(title)), terminal_(terminal) {}

  void started(const wire::CheckSuite& suite);
  void doing(const wire::CheckBegins& begins);
  void finished(const wire::CheckResult& result);
  // A check in which the worker ended.
  void ended(const wire::CheckResult& result, const run::WorkerEnd& end);
  // Checks that were not begun, after too many of those.
  void left(const std::vector<std::string>& checks) { left_ = checks; }
  void conclude();

  bool failed() const;
  // Whether a check other than creating the plugin ran on this device.
  bool applied() const;

 private:
  void print_line(const wire::CheckResult& result);
  void print_failure(const wire::CheckResult& result) const;
  void print_failures() const;
  void print_remarks() const;
  std::string sentence(const std::string& check) const;

  std::string title_;
  bool terminal_;
  std::size_t name_width_ = 0;
  std::vector<wire::CheckTitle> titles_;
  std::vector<wire::CheckResult> results_;
  std::map<std::string, run::WorkerEnd> ends_;  // by check
  std::vector<std::string> left_;
};

}  // namespace assay::cli
