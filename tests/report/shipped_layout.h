#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "rendering.h"
#include "report/data/ceilings.h"

namespace assay::report {

// Renders a layout under configs/layouts.
class ShippedLayout : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("assay_shipped_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The report of the runs that `texts` hold, one each, as CSV or JSONL; ceilings are those that
  // the figures of `calibration` say.
  std::string rendered(const std::vector<std::string>& texts, const std::string& layout,
                       const std::string& calibration = "") {
    std::vector<store::Run> runs;
    for (const std::string& text : texts) {
      auto run = store::import_text(text, text.front() == '{' ? "a.jsonl" : "a.csv");
      if (!run) return "IMPORT " + run.error().text();
      run->info.name = "machine" + std::to_string(runs.size());
      runs.push_back(std::move(*run));
    }
    Ceilings ceilings;
    if (!calibration.empty()) {
      const auto run = store::import_text(calibration, "calibration.csv");
      if (!run) return "IMPORT " + run.error().text();
      ceilings.add(*run);
    }
    Inputs inputs;
    if (!calibration.empty()) inputs.ceilings = [&](const store::Run&) { return ceilings; };
    for (const store::Run& run : runs) inputs.sources.emplace_back(&run);
    inputs.with_context = false;
    inputs.folder = folder_;
    inputs.spec =
        *yaml::parse_file(yaml::documents_below(ASSAY_SOURCE_DIR "/configs/layouts").at(layout));
    const auto document = build(inputs);
    return document ? *to_markdown(*document) : "ERROR " + document.error().text();
  }

  // The data beside a picture.
  std::string data(const std::string& name) const {
    const auto text = read_file((folder_ / (name + ".csv")).string());
    return text ? *text : text.error().text();
  }

  std::filesystem::path folder_;
};

}  // namespace assay::report
