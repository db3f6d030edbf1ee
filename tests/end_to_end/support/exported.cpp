#include "exported.h"

#include <gtest/gtest.h>

#include <sstream>

#include "program.h"

namespace assay::test {

std::vector<nlohmann::json> exported(const std::filesystem::path& folder, const std::string& run) {
  const Ended ended = assay(folder, {"export", run});
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
  std::vector<nlohmann::json> lines;
  std::istringstream stream(ended.output);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

nlohmann::json time_of(const std::vector<nlohmann::json>& lines, const std::string& attention) {
  for (const auto& line : lines) {
    if (line["case"]["attention"] == attention && line["metric"] == "time") return line;
  }
  return nullptr;
}

}  // namespace assay::test
