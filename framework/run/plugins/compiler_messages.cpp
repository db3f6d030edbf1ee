#include "run/plugins/compiler_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "base/text.h"

namespace assay::run {

namespace {

// ptxas: "Entry function '_Z6attendv' uses too much shared data (0x12000 bytes, 0xc000 max)".
std::string beyond_limits(const std::string& line) {
  static const std::regex too_much(
      R"re(uses too much (.+?) \(0x([0-9a-fA-F]+)(?: bytes)?, 0x([0-9a-fA-F]+) max\))re");
  static const std::regex registers(
      R"re(Register allocation failed with register count of '(\d+)')re");
  std::smatch found;
  if (std::regex_search(line, found, too_much)) {
    std::string resource = found[1];
    if (resource == "shared data") resource = "shared memory";
    return fmt::format("{}: it needs {} bytes, the limit is {}", resource,
                       std::stoull(found[2], nullptr, 16), std::stoull(found[3], nullptr, 16));
  }
  if (std::regex_search(line, found, registers)) {
    return fmt::format("registers: {} a thread are too few for it", found[1].str());
  }
  return {};
}

// The text of a failed static_assert, as g++, clang and nvcc print it.
std::string refusal(const std::string& line) {
  static const std::regex quoted(R"re(static assertion failed with "(.*)"$)re");
  static const std::regex plain(
      R"re(static assertion failed(?: due to requirement '.*?')?: (.*)$)re");
  std::smatch found;
  if (std::regex_search(line, found, quoted)) return found[1];
  if (!std::regex_search(line, found, plain)) return {};
  std::string text = found[1];
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

bool names_an_error(const std::string& line) {
  static const std::regex error(R"(\b(fatal )?error\s*:|ptxas (error|fatal)|undefined reference)",
                                std::regex::icase);
  return std::regex_search(line, error);
}

// "/home/me/mine/tile.h:3:1: error: …" without the folders.
std::string without_folders(const std::string& line) {
  static const std::regex folders(R"(^(/[^:\s]*/)([^/:\s]+:\d+|[^/:\s]+\(\d+\)))");
  return std::regex_replace(line, folders, "$2");
}

}  // namespace

BuildProblem problem_in(const std::string& messages) {
  constexpr std::size_t longest = 400;
  std::string first, last;
  for (const std::string& each : split(messages, '\n')) {
    const std::string line(trim(each));
    if (line.empty()) continue;
    last = line;
    if (std::string limits = beyond_limits(line); !limits.empty()) {
      return {Outcome::unsupported, std::move(limits)};
    }
    if (std::string refused = refusal(line); !refused.empty() && first.empty()) {
      return {Outcome::unsupported, std::move(refused)};
    }
    if (first.empty() && names_an_error(line)) first = line;
  }
  std::string reason = without_folders(first.empty() ? last : first);
  if (reason.size() > longest) reason = reason.substr(0, longest) + " …";
  return {Outcome::error, std::move(reason)};
}

}  // namespace assay::run
