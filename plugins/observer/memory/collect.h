#pragma once

#include <assay/observer.h>

#include <exception>

#include "history.h"

namespace assay::memory {

struct Collected {
  History history;
  std::exception_ptr failure;  // what the program threw; null: nothing
};

// Builds the program and takes as many of its steps as it allows, fewer where the limits are met.
// now_s: seconds on the case's time base. What was seen ahead of a failure is there too.
Collected collect(const ObservedPass& observed, const std::function<double()>& now_s,
                  const Limits& limits = {});

}  // namespace assay::memory
