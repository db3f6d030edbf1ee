#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "store/records/records.h"

namespace assay::store::testing {

// Each test's own folder, removed at its end.
class TemporaryFolder : public ::testing::Test {
 protected:
  using Run = store::Run;  // not the fixture's own method

  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-store-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path file(std::string_view name) const { return folder_ / name; }

  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

  static std::string content(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder_;
};

}  // namespace assay::store::testing
