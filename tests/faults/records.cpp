#include "records.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.h"

namespace assay::faults {

namespace {

std::string commit_of_the_build() {
  const auto text = read_file(ASSAY_BUILD_DIR "/lib/assay/source.json");
  const auto source = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!source.is_object()) return "";
  const std::string commit = source.value("commit", "").substr(0, 12);
  return source.value("clean", false) ? commit : commit + " with uncommitted changes";
}

}  // namespace

bool is_recording() { return std::getenv("ASSAY_FAULT_RECORDS") != nullptr; }

void write_record(const Record& record) {
  const char* file = std::getenv("ASSAY_FAULT_RECORDS");
  if (file == nullptr || ::testing::Test::HasFailure()) return;
  const nlohmann::ordered_json json = {{"test", record.test},
                                       {"group", record.group},
                                       {"done", record.done},
                                       {"outcome", record.outcome},
                                       {"reason", record.reason},
                                       {"others", record.others},
                                       {"lost", record.lost},
                                       {"commit", commit_of_the_build()},
                                       {"date", timestamp_utc().substr(0, 10)}};
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // A single write: tests may run side by side.
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
    Record record{json.at("test"),    json.at("group"),         json.at("done"),
                  json.at("outcome"), json.at("reason"),        json.at("others"),
                  json.at("lost"),    json.value("commit", ""), json.value("date", "")};
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

std::optional<Record> committed_record(const std::string& test) {
  for (const char* part : {"cpu", "gpu"}) {
    const auto file = std::filesystem::path(ASSAY_SOURCE_DIR "/tests/faults/records") /
                      (part + std::string(".jsonl"));
    for (Record& record : read_records(file)) {
      if (record.test == test) return std::move(record);
    }
  }
  return std::nullopt;
}

std::string cause_of(const std::string& reason) {
  static const std::regex moment(R"( \(at '[^']*'\))");
  static const std::regex figure(R"([0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)");
  const auto printed = std::find_if(reason.begin(), reason.end(), [](char letter) {
    return static_cast<unsigned char>(letter) >= 0x80;
  });
  const std::string text(reason.begin(), printed);
  return std::regex_replace(std::regex_replace(text, moment, ""), figure, "#");
}

}  // namespace assay::faults
