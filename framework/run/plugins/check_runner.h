#pragma once

#include <functional>
#include <string>
#include <vector>

#include "run/workers/installation.h"
#include "wire/check_messages.h"

namespace assay::run {

// Told what a check does, as it happens.
struct CheckListener {
  std::function<void(const wire::CheckSuite&)> suite;  // once, every check of the kind
  std::function<void(const wire::CheckBegins&)> begins;
  std::function<void(const wire::CheckResult&)> result;
};

// Checks one plugin in a worker of its own. A worker that dies, or spends more than `case_limit_s`
// on one case, fails the check at the case it had begun, and another goes on behind that check. An
// error when the worker cannot start or the request names a check that the kind does not have.
Result<void> run_checks(const Installation& installation, wire::CheckRequest request,
                        double case_limit_s, const CheckListener& listener);

}  // namespace assay::run
