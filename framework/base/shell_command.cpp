#include "base/shell_command.h"

#include <filesystem>

#include "base/text.h"

namespace assay {

namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string called_as() {
  const auto words = read_file("/proc/self/cmdline");
  const std::string name = words ? words->substr(0, words->find('\0')) : std::string();
  return std::filesystem::path(name).filename() == "assay" ? name : "assay";
}

std::string as_called(std::string text) {
  constexpr std::string_view hinted = "`assay ";
  const std::string name = "`" + quoted(called_as()) + " ";
  for (std::size_t at = 0; (at = text.find(hinted, at)) != std::string::npos; at += name.size()) {
    text.replace(at, hinted.size(), name);
  }
  return text;
}

std::string shell_command(const std::vector<std::string>& words) {
  std::vector<std::string> parts;
  parts.reserve(words.size());
  for (const std::string& word : words) parts.push_back(quoted(word));
  return join(parts, " ");
}

}  // namespace assay
