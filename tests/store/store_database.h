#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "store/database/database.h"
#include "temporary_folder.h"

namespace assay::store::testing {

// A database in a folder of results.
class StoreDatabase : public TemporaryFolder {
 protected:
  Database open(Access access = Access::read_write) {
    return Database::open(file("results/assay.db"), access).value();
  }

  // Records a run's cases one by one.
  static void record(Database& database, const Run& run) {
    ASSERT_TRUE(database.begin_run(run.info));
    for (const CaseResult& result : run.cases) {
      ASSERT_TRUE(database.record_case(run.info.name, result));
    }
  }

  static RunInfo named(std::string name, std::string experiment = "model_timing",
                       std::string started = "2026-01-01T00:00:00Z") {
    RunInfo info;
    info.name = std::move(name);
    info.experiment = std::move(experiment);
    info.started = std::move(started);
    return info;
  }
};

}  // namespace assay::store::testing
