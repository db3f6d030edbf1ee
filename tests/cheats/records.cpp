#include "records.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"

namespace assay::cheats {

namespace {

std::string commit_of_the_build() {
  const auto text = read_file(ASSAY_BUILD_DIR "/lib/assay/source.json");
  const auto source = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!source.is_object()) return "";
  const std::string commit = source.value("commit", "").substr(0, 12);
  return source.value("clean", false) ? commit : commit + " with uncommitted changes";
}

void read_into(std::vector<Record>& records, const std::filesystem::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line);
    records.push_back({{json.at("cheat"), json.at("level"), json.at("says"), json.at("reason"),
                        json.at("shown_s"), json.at("honest_s")},
                       json.at("commit"),
                       json.at("date")});
  }
}

}  // namespace

bool is_recording() { return std::getenv("ASSAY_CHEAT_RECORDS") != nullptr; }

void write_record(const Verdict& verdict) {
  const nlohmann::ordered_json json = {{"cheat", verdict.cheat},
                                       {"level", verdict.level},
                                       {"says", verdict.says},
                                       {"reason", verdict.reason},
                                       {"shown_s", verdict.shown_s},
                                       {"honest_s", verdict.honest_s},
                                       {"commit", commit_of_the_build()},
                                       {"date", timestamp_utc().substr(0, 10)}};
  std::ofstream stream(std::getenv("ASSAY_CHEAT_RECORDS"), std::ios::app);
  stream << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  if (!stream.flush())
    throw std::runtime_error("the file of ASSAY_CHEAT_RECORDS cannot be written");
}

std::vector<Record> committed_records() {
  std::vector<Record> records;
  for (const char* part : {"cpu", "gpu"}) {
    read_into(records, std::filesystem::path(ASSAY_SOURCE_DIR "/tests/cheats/records") /
                           (part + std::string(".jsonl")));
  }
  return records;
}

}  // namespace assay::cheats
