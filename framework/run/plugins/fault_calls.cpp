#include "run/plugins/fault_calls.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "run/process/process.h"

namespace assay::run {

namespace {

constexpr std::size_t most_calls = 8;
constexpr std::size_t longest_name = 100;

// "/path/mine.so(_ZN4Mine7forwardEv+0x1d) [0x7f…]": the name may be empty.
struct Frame {
  std::string file;
  std::string name;
  std::string offset;
};

Frame read_frame(const std::string& line) {
  const std::size_t open = line.find('('), close = line.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return {line, {}, {}};
  const std::string inside = line.substr(open + 1, close - open - 1);
  const std::size_t plus = inside.rfind('+');
  if (plus == std::string::npos) return {line.substr(0, open), inside, {}};
  return {line.substr(0, open), inside.substr(0, plus), inside.substr(plus + 1)};
}

std::string file_name(const Frame& frame) {
  return std::filesystem::path(frame.file).filename().string();
}

bool is_worker(const Frame& frame) { return file_name(frame).starts_with("libassay_worker"); }
bool is_c_library(const Frame& frame) { return file_name(frame).starts_with("libc."); }

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

// The name of a function that the library does not export; "" where it is unknown.
std::string name_at(const Frame& frame) {
  Process::Command command;
  command.arguments = {"addr2line", "-C", "-f", "-e", frame.file, frame.offset};
  const auto done = capture(command);
  if (!done || !done->ok()) return "";
  const std::string name = split(done->output, '\n').front();
  return name == "??" ? "" : name;
}

std::string in_words(const Frame& frame, const std::vector<std::string>& plugins) {
  std::string name = demangled(frame.name);
  if (name.empty() && std::ranges::count(plugins, frame.file) > 0) name = name_at(frame);
  if (name.empty()) return fmt::format("{} + {}", file_name(frame), frame.offset);
  if (name.size() > longest_name) name = name.substr(0, longest_name) + "…";
  return fmt::format("{} in {}", name, file_name(frame));
}

}  // namespace

std::vector<std::string> calls_of_fault(const std::vector<std::string>& trace,
                                        const std::vector<std::string>& plugins) {
  std::vector<Frame> frames;
  for (const std::string& line : trace) frames.push_back(read_frame(line));
  // The handler, and the C library's frame from which it returns.
  auto frame = std::ranges::find_if_not(frames, is_worker);
  if (frame != frames.end() && is_c_library(*frame)) ++frame;
  std::vector<std::string> calls;
  for (; frame != frames.end() && !is_worker(*frame) && calls.size() < most_calls; ++frame) {
    calls.push_back(in_words(*frame, plugins));
  }
  return calls;
}

}  // namespace assay::run
