#include "records.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace assay::faults {

void write_record(const Record& record) {
  const char* file = std::getenv("ASSAY_FAULT_RECORDS");
  if (file == nullptr || ::testing::Test::HasFailure()) return;
  const nlohmann::ordered_json json = {{"test", record.test},     {"group", record.group},
                                       {"done", record.done},     {"outcome", record.outcome},
                                       {"reason", record.reason}, {"others", record.others},
                                       {"lost", record.lost}};
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // In one piece: tests may run beside each other.
  const int descriptor = ::open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
  const bool written =
      descriptor >= 0 && ::write(descriptor, line.data(), line.size()) == std::ssize(line);
  if (descriptor >= 0) ::close(descriptor);
  EXPECT_TRUE(written) << file << " cannot be written";
}

std::vector<Record> read_records(const std::filesystem::path& file) {
  std::vector<Record> records;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line);
    Record record{json.at("test"),   json.at("group"),  json.at("done"), json.at("outcome"),
                  json.at("reason"), json.at("others"), json.at("lost")};
    const auto earlier = std::find_if(records.begin(), records.end(),
                                      [&](const Record& old) { return old.test == record.test; });
    if (earlier == records.end()) {
      records.push_back(std::move(record));
    } else {
      *earlier = std::move(record);
    }
  }
  return records;
}

}  // namespace assay::faults
