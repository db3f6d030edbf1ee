#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "store/database/database.h"
#include "support/program.h"

namespace assay::test {

// The cases of the folder's latest run.
inline std::vector<store::CaseResult> stored_cases(const Folder& folder) {
  auto database =
      store::Database::open(folder.path() / "results" / "assay.db", store::Access::read_only);
  return std::move(database->load_run(**database->latest_run())->cases);
}

inline store::CaseResult stored_case(const Folder& folder) {
  auto cases = stored_cases(folder);
  EXPECT_EQ(cases.size(), 1u);
  return std::move(cases.front());
}

// Null if there is none.
inline const store::Series* series_of(const store::CaseResult& result, const std::string& metric,
                                      const std::string& part = "") {
  const auto found = std::ranges::find_if(result.series, [&](const store::Series& series) {
    return series.metric == metric && series.part == part;
  });
  return found == result.series.end() ? nullptr : &*found;
}

}  // namespace assay::test
