#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// A room is a folder of framework/. The linker keeps the direction of calls, this that of headers.
namespace {

using Rooms = std::map<std::string, std::vector<std::string>>;  // by name: those it names

const std::filesystem::path framework = std::filesystem::path(ASSAY_SOURCE_DIR) / "framework";

// The rooms of the worker, which is linked as one library: here is their order.
const Rooms worker_rooms = {
    {"sdk/assay/detail", {}},
    {"model", {"base"}},
    {"accounting", {"model"}},
    {"training", {"accounting"}},
    {"reference", {"model"}},
    {"measure", {"model", "store/records"}},
    {"conformance",
     {"training", "reference", "measure", "catalogue", "expression", "wire", "worker/record"}},
    {"worker/process", {"measure", "catalogue", "wire"}},
    {"worker/record", {"measure"}},
    {"worker/compose", {"worker/process", "reference"}},
    {"worker/looks", {"worker/compose"}},
    {"worker/pass", {"worker/looks", "worker/record", "timing"}},
    {"worker/case", {"worker/pass"}},
    {"worker", {"worker/case", "conformance"}},
};

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

Rooms all_rooms() {
  Rooms rooms = worker_rooms;
  const std::string text = text_of(framework / "CMakeLists.txt");
  const std::regex call(R"(assay_room\((\S+?)(?:\s+DEPENDS\s+([^)]*?))?(?:\s+LINK[^)]*)?\))");
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
    std::istringstream names((*at)[2]);
    rooms[(*at)[1]] = {std::istream_iterator<std::string>(names), {}};
  }
  return rooms;
}

// The room itself and all it may look into.
std::set<std::string> seen_from(const std::string& room, const Rooms& rooms) {
  std::set<std::string> seen{room};
  for (const std::string& named : rooms.at(room)) seen.merge(seen_from(named, rooms));
  return seen;
}

std::vector<std::string> included_folders(const std::filesystem::path& file) {
  const std::string text = text_of(file);
  const std::regex include("#include \"([^\"]+)/[^/\"]+\"");
  std::vector<std::string> folders;
  for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
    folders.push_back((*at)[1]);
  }
  return folders;
}

TEST(Rooms, IncludeOnlyWhatTheySee) {
  const Rooms rooms = all_rooms();
  EXPECT_GT(rooms.size(), 30u);
  for (const auto& file : std::filesystem::recursive_directory_iterator(framework)) {
    const std::string kind = file.path().extension();
    const auto room = relative(file.path().parent_path(), framework).string();
    if ((kind != ".h" && kind != ".cpp") || room == "." || room == "sdk/assay") continue;
    ASSERT_TRUE(rooms.contains(room)) << room << " is no room of framework/CMakeLists.txt";
    const std::set<std::string> seen = seen_from(room, rooms);
    for (const std::string& folder : included_folders(file.path())) {
      EXPECT_TRUE(folder == "assay" || seen.contains(folder))
          << file.path() << " includes from " << folder << ", which " << room << " does not see";
    }
  }
}

}  // namespace
