#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/process/installation.h"
#include "wire/check_messages.h"

namespace assay::run {

// How a worker ended in the middle of a check.
struct WorkerEnd {
  std::string how;  // "signal 11 (SIGSEGV: …)", "exit code 3"; "" where its time was up
  std::vector<std::string>
      calls;  // that led to a fault, innermost first: "Mine::forward in mine.so"
};

struct CheckListener {
  std::function<void(const wire::CheckSuite&)> suite;  // called once
  std::function<void(const wire::CheckBegins&)> begins;
  std::function<void(const wire::CheckResult&)> result;
  std::function<void(const wire::CheckResult&, const WorkerEnd&)> ended;  // in place of result
  std::function<void(const std::vector<std::string>&)> left;  // checks that were not begun
};

// Checks one plugin in a worker. A worker that dies, or spends more than `case_limit_s` on a case,
// fails the current check, and a new worker continues with the next one, until `most_ends` workers
// have ended so. Errors: the worker cannot start, or the request names an unknown check.
Result<void> run_checks(const Installation& installation, wire::CheckRequest request,
                        double case_limit_s, std::size_t most_ends, const CheckListener& listener);

}  // namespace assay::run
