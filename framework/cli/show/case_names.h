#pragma once

#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::cli {

// The parameters of cases, by whether they differ. A name that some cases lack varies.
struct CaseNames {
  std::vector<std::string> varying;
  std::vector<std::string> shared;  // "batch=1"
};
CaseNames case_names(const std::vector<const store::CaseResult*>& cases);

}  // namespace assay::cli
