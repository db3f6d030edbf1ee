#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "rendering.h"

namespace assay::report {

// Renders reports with pictures into a folder of the test's own.
class Plots : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_plots_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string rendered(const std::string& csv, const std::string& yaml) {
    return rendered(testing_support::run_of(csv), yaml);
  }

  std::string rendered(const store::Run& run, const std::string& yaml,
                       const Ceilings* ceilings = nullptr) {
    Inputs inputs;
    inputs.sources = {&run};
    if (ceilings != nullptr) inputs.ceilings = [=](const store::Run&) { return *ceilings; };
    inputs.with_context = false;
    inputs.folder = folder_;
    inputs.spec = *yaml::parse(yaml, "spec.yaml");
    const auto document = build(inputs);
    return document ? *to_markdown(*document) : "ERROR " + document.error().text();
  }

  std::filesystem::path folder_;
};

inline std::string data_of(const std::filesystem::path& folder,
                           const std::string& name = "plot-1") {
  const auto text = read_file((folder / (name + ".csv")).string());
  return text ? *text : text.error().text();
}

}  // namespace assay::report
