// The table agrees with what was recorded, and docs/trust.md with both. With ASSAY_WRITE_DOCS set
// (tools/trust) the table's verdicts and the page are written instead.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "records.h"
#include "table.h"

namespace assay::cheats {
namespace {

// What `tools/trust verdicts` gives as the reason of a plain number, until somebody gives another.
constexpr const char* no_reason = "not defended yet";

const std::filesystem::path page_file = ASSAY_SOURCE_DIR "/docs/trust.md";

bool is_writing() { return std::getenv("ASSAY_WRITE_DOCS") != nullptr; }

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  ASSERT_TRUE(stream.flush()) << file;
}

using Verdicts = std::map<std::string, std::map<std::string, std::string>>;  // by cheat and level

Verdicts recorded() {
  Verdicts verdicts;
  for (const Record& record : committed_records()) {
    verdicts[record.verdict.cheat][record.verdict.level] = record.verdict.says;
  }
  return verdicts;
}

bool begins_a_cheat(const std::string& line) { return line.starts_with("  - cheat: "); }

// The lines of a cheat with the verdicts that were recorded, and without a reason that is none.
std::vector<std::string> with_verdicts(const std::vector<std::string>& lines,
                                       const std::map<std::string, std::string>& recorded) {
  std::vector<std::string> made;
  bool is_open = false, has_reason = false;
  std::map<std::string, std::string> missing = recorded;
  for (std::string line : lines) {
    if (line == fmt::format("    open: {}", no_reason)) continue;
    for (const std::string level : {"fast", "full"}) {
      const std::string key = "    " + level + ": ";
      if (!line.starts_with(key)) continue;
      if (recorded.contains(level)) line = key + recorded.at(level);
      missing.erase(level);
    }
    is_open = is_open || line.ends_with(fmt::format(": {}", nothing));
    has_reason = has_reason || line.starts_with("    open: ");
    made.push_back(line);
  }
  for (const auto& [level, says] : missing) {
    made.push_back(fmt::format("    {}: {}", level, says));
    is_open = is_open || says == nothing;
  }
  if (is_open && !has_reason) made.push_back(fmt::format("    open: {}", no_reason));
  return made;
}

// The table's text with the verdicts of the records.
std::string with_verdicts(const std::string& table, const Verdicts& recorded) {
  std::vector<std::vector<std::string>> blocks = {{}};  // what lies ahead, then a block a cheat
  std::istringstream stream(table);
  for (std::string line; std::getline(stream, line);) {
    if (begins_a_cheat(line)) blocks.emplace_back();
    blocks.back().push_back(line);
  }
  std::string made;
  for (const auto& block : blocks) {
    const bool is_cheat = !block.empty() && begins_a_cheat(block.front());
    const auto found = is_cheat
                           ? recorded.find(block.front().substr(std::string("  - cheat: ").size()))
                           : recorded.end();
    for (const std::string& line :
         found == recorded.end() ? block : with_verdicts(block, found->second)) {
      made += line + "\n";
    }
  }
  return made;
}

TEST(Table, HasTwoCheatsOfEachFamily) {
  const Table table = read_table();
  std::map<std::string, int> cheats;
  std::set<std::string> names;
  for (const Cheat& cheat : table.cheats) {
    ++cheats[cheat.family];
    EXPECT_TRUE(names.insert(cheat.name).second) << cheat.name << " is there twice";
    EXPECT_NE(cheat.honest, cheat.its_case) << cheat.name << " has no honest twin";
    EXPECT_TRUE(cheat.set == "first" || cheat.set == "second") << cheat.name;
    for (const std::string& source : cheat.seen) EXPECT_TRUE(table.sources.contains(source));
  }
  EXPECT_GE(table.cheats.size(), 40u);
  for (const auto& [family, heading] : table.families) EXPECT_GE(cheats[family], 2) << heading;
  EXPECT_EQ(cheats.size(), table.families.size());
}

TEST(Table, GivesAReasonForEachPlainNumberAndNoOther) {
  if (is_writing()) return write(table_file(), with_verdicts(text_of(table_file()), recorded()));
  for (const Cheat& cheat : read_table().cheats) {
    const bool open = cheat.says.at("fast") == nothing || cheat.says.at("full") == nothing;
    EXPECT_EQ(open, !cheat.open.empty()) << cheat.name;
  }
}

TEST(Table, SaysWhatWasRecorded) {
  const Verdicts verdicts = recorded();
  const Table table = read_table();
  for (const Cheat& cheat : table.cheats) {
    for (const auto& [level, settings] : table.levels) {
      const auto found = verdicts.find(cheat.name);
      const bool tried = found != verdicts.end() && found->second.contains(level);
      EXPECT_EQ(cheat.says.at(level), tried ? found->second.at(level) : unrecorded)
          << cheat.name << " at " << level << ": run tools/trust cpu (gpu), then verdicts";
    }
  }
}

// As the table's text has them, without what reads it.
std::set<std::string> names_of_the_second_set() {
  std::set<std::string> names;
  std::istringstream stream(text_of(table_file()));
  std::string name;
  for (std::string line; std::getline(stream, line);) {
    if (begins_a_cheat(line)) name = line.substr(line.rfind(' ') + 1);
    if (line == "    set: second") names.insert(name);
  }
  return names;
}

TEST(Page, CountsTheSecondSetApart) {
  const auto second = names_of_the_second_set();
  EXPECT_GE(second.size(), 30u);
  const std::string page = text_of(page_file);
  for (const std::string level : {"fast", "full"}) {
    std::map<bool, int> tried, noticed;  // of the second set or not
    for (const auto& [name, says] : recorded()) {
      if (!says.contains(level)) continue;
      ++tried[second.contains(name)];
      noticed[second.contains(name)] += says.at(level) == "nothing" ? 0 : 1;
    }
    const auto has = [&](const char* set, int some, int all) {
      const auto line = fmt::format("\n- `{}`: of {}, {} of {} cheats get no plain number. ", level,
                                    set, some, all);
      EXPECT_NE(page.find(line), std::string::npos) << line;
    };
    has("the first set, by those who wrote the defences", noticed[false], tried[false]);
    has("the second set, by somebody who had not written the defences", noticed[true], tried[true]);
  }
}

TEST(Page, MarksTheRowsOfTheSecondSet) {
  const auto second = names_of_the_second_set();
  std::set<std::string> marked;
  std::istringstream stream(text_of(page_file));
  for (std::string line; std::getline(stream, line);) {
    const bool is_marked = line.find(", second set | ") != std::string::npos;
    if (line.starts_with("| `") && is_marked) marked.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(marked, second);
}

TEST(Page, IsWhatTableAndRecordsSay) {
  const std::string begin = "<!-- cheats -->\n", end = "<!-- end -->\n";
  const std::string page = text_of(page_file);
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << page_file;
  const std::string made = page.substr(0, from + begin.size()) +
                           render_table(read_table(), committed_records()) + page.substr(to);
  if (is_writing()) return write(page_file, made);
  EXPECT_EQ(page, made) << "run tools/trust page";
}

}  // namespace
}  // namespace assay::cheats
