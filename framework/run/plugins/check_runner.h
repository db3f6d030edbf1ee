#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/process/installation.h"
#include "wire/check_messages.h"

namespace assay::run {

struct CheckListener {
  std::function<void(const wire::CheckSuite&)> suite;  // called once
  std::function<void(const wire::CheckBegins&)> begins;
  std::function<void(const wire::CheckResult&)> result;
};

// Checks one plugin in a worker. A worker that dies, or spends more than `case_limit_s` on a case,
// fails the current check, and a new worker continues with the next one. Errors: the worker cannot
// start, or the request names an unknown check.
Result<void> run_checks(const Installation& installation, wire::CheckRequest request,
                        double case_limit_s, const CheckListener& listener);

}  // namespace assay::run
