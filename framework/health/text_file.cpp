#include "health/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace assay::health {

std::optional<std::string> read_text(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char buffer[16384];
  while (text.size() < most) {
    const ssize_t count = ::read(file, buffer, std::min(sizeof buffer, most - text.size()));
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

std::optional<long long> read_number(const std::string& path) {
  const auto text = read_text(path, 64);
  if (!text) return {};
  const auto list = words(*text);
  return list.empty() ? std::nullopt : number(list.front());
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  std::vector<std::string_view> list;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = text.find_first_of(blanks, at);
    list.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return list;
}

std::optional<long long> number(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<double> real(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() ? std::nullopt : std::optional(value);
}

}  // namespace assay::health
