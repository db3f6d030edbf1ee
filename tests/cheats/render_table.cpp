#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "records.h"

namespace assay::cheats {

namespace {

const Verdict* verdict_of(const std::vector<Record>& records, const std::string& cheat,
                          const std::string& level) {
  const auto found = std::ranges::find_if(records, [&](const Record& record) {
    return record.verdict.cheat == cheat && record.verdict.level == level;
  });
  return found == records.end() ? nullptr : &found->verdict;
}

bool is_noticed(const Verdict* verdict) { return verdict != nullptr && verdict->says != nothing; }

// Text for a cell: on one line, without what Markdown would read.
std::string plain(const std::string& text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '|' || letter == '*' || letter == '_' || letter == '[') made += '\\';
    if (letter == '<') {
      made += "&lt;";
    } else if (static_cast<unsigned char>(letter) >= 0x20) {
      made += letter;
    }
  }
  return made;
}

// "200 ×": how much faster a cheat looks than its twin.
std::string gain_of(const Verdict& verdict) {
  if (verdict.shown_s <= 0 || verdict.honest_s < least_gain * verdict.shown_s) return "";
  const double gain = verdict.honest_s / verdict.shown_s;
  return gain < 10 ? fmt::format(", {:.1f} ×", gain) : fmt::format(", {:.0f} ×", gain);
}

// A reason that begins with a long one's words is cut behind a clause.
std::string short_reason(const std::string& reason) {
  constexpr std::size_t longest = 90;
  std::string first = reason.substr(0, reason.find('\n'));
  if (first.size() <= longest) return first;
  const std::size_t end = first.find_last_of(",;:", longest);
  return first.substr(0, end == std::string::npos ? first.rfind(' ', longest) : end) + " …";
}

std::string said(const Cheat& cheat, const Verdict* verdict) {
  if (verdict == nullptr) return "not run";
  if (verdict->says == kept) return "no effect";
  if (verdict->says == nothing) {
    return cheat.proof.empty() ? "**a plain number**" + gain_of(*verdict) : "**unnoticed**";
  }
  const std::string reason = plain(short_reason(verdict->reason));
  return fmt::format("`{}`{}", verdict->says, reason.empty() ? "" : ": " + reason);
}

std::string row_of(const Cheat& cheat, const Table& table, const std::vector<Record>& records) {
  std::vector<std::string> seen;
  for (const std::string& source : cheat.seen) seen.push_back(table.sources.at(source));
  if (cheat.set != table.sets.front().first) seen.push_back(cheat.set + " set");
  std::string row =
      fmt::format("| `{}` {} | {} | {} |", cheat.name, cheat.does, join(seen, ", "), cheat.naive);
  std::string before;
  for (const auto& [level, settings] : table.levels) {
    const std::string cell = said(cheat, verdict_of(records, cheat.name, level));
    row += cell == before ? " the same |" : " " + cell + " |";
    before = cell;
  }
  return row + "\n";
}

// "wrong (23), impossible (2)" of the families' cheats would hide what is open: families count as
// noticed where each of the set's cheats is.
std::string sum_of(const Table& table, const std::vector<Record>& records, const std::string& level,
                   const std::string& set, const std::string& words) {
  std::size_t cheats = 0, noticed = 0;
  std::set<std::string> families, open;
  for (const Cheat& cheat : table.cheats) {
    const Verdict* verdict = verdict_of(records, cheat.name, level);
    if (cheat.set != set || verdict == nullptr) continue;
    ++cheats;
    noticed += is_noticed(verdict) ? 1 : 0;
    if (std::ranges::count(table.tampering, cheat.family) > 0) continue;
    families.insert(cheat.family);
    if (!is_noticed(verdict)) open.insert(cheat.family);
  }
  return fmt::format(
      "- `{}`: of {}, {} of {} cheats get no plain number. Of its {} families that cheat in what "
      "they compute or when, {} get none for any of their cheats.\n",
      level, words, noticed, cheats, families.size(), families.size() - open.size());
}

std::string open_ones(const Table& table, const std::vector<Record>& records) {
  std::string text;
  for (const Cheat& cheat : table.cheats) {
    std::vector<std::string> levels;
    for (const auto& [level, settings] : table.levels) {
      const Verdict* verdict = verdict_of(records, cheat.name, level);
      if (verdict != nullptr && !is_noticed(verdict)) levels.push_back("`" + level + "`");
    }
    if (levels.empty()) continue;
    text += fmt::format("- `{}` at {}: {}\n", cheat.name, join(levels, " and "), cheat.open);
  }
  return text.empty() ? text : "\nOpen:\n\n" + text;
}

std::string origins(const std::vector<Record>& records) {
  std::set<std::string> builds;
  for (const Record& record : records) builds.insert(record.commit + ", " + record.date);
  const std::vector<std::string> parts(builds.begin(), builds.end());
  return parts.empty() ? "" : "\nRecorded with " + join(parts, "; ") + ".\n";
}

}  // namespace

std::string render_table(const Table& table, const std::vector<Record>& records) {
  std::string text = "\n";
  for (const auto& [set, words] : table.sets) {
    for (const auto& [level, settings] : table.levels) {
      text += sum_of(table, records, level, set, words);
    }
  }
  for (const auto& [family, heading] : table.families) {
    std::string rows;
    for (const Cheat& cheat : table.cheats) {
      if (cheat.family == family) rows += row_of(cheat, table, records);
    }
    text += fmt::format("\n### {}\n\n| cheat | seen | a naive harness shows |", heading);
    std::string rule = "\n|---|---|---|";
    for (const auto& [level, settings] : table.levels) {
      text += fmt::format(" `{}` |", level);
      rule += "---|";
    }
    text += rule + "\n" + rows;
  }
  return text + open_ones(table, records) + origins(records) + "\n";
}

}  // namespace assay::cheats
