#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "config/experiment.h"
#include "test_catalogue.h"

namespace assay::config {

inline Experiment parsed(const std::string& text, const Override& override = {}) {
  auto experiment = parse_experiment(text, "test.yaml", test_environment(), override);
  EXPECT_TRUE(experiment) << experiment.error().text();
  return experiment ? std::move(*experiment) : Experiment{};
}

inline Plan planned(const std::string& text, const Override& override = {}) {
  auto plan = expand(parsed(text, override));
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? std::move(*plan) : Plan{};
}

// The values of `names` in every case: "naive 128", "naive 256".
inline std::vector<std::string> cases(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    std::vector<std::string> values;
    for (const std::string& name : names) values.push_back(to_text(plan.get(i, name)));
    rows.push_back(join(values, " "));
  }
  return rows;
}

using Rows = std::vector<std::string>;

// An experiment on `workload: attention`; `rest` starts in line 3.
inline std::string on_attention(const std::string& rest) {
  return "experiment: test\nworkload: attention\n" + rest;
}

}  // namespace assay::config
