#include "report/picture/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"

extern char** environ;

namespace assay::report {
namespace {

std::string closing_read(int descriptor) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return text;
}

// An error holds the program's output.
Result<void> run(const std::vector<std::string>& arguments) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return fail(ExitCode::machine_lacks, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int problem = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  const std::string said = closing_read(pipe_ends[0]);
  if (problem == ENOENT) {
    return fail(ExitCode::machine_lacks, arguments.front() + " is not installed",
                "install it (Debian and Ubuntu: gnuplot-nox) and make the report again");
  }
  if (problem != 0) {
    return fail(ExitCode::machine_lacks,
                fmt::format("{} cannot be started: {}", arguments.front(), std::strerror(problem)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ExitCode::machine_lacks,
              fmt::format("{} failed: {}", arguments.front(), std::string(trim(said))));
}

}  // namespace

std::string quoted(const std::string& text) {
  // gnuplot takes two quotes at the beginning for an empty text: those stand in double quotes.
  const std::size_t quotes = std::min(text.find_first_not_of('\''), text.size());
  std::string result = quotes == 0 ? "'" : '"' + text.substr(0, quotes) + "\" . '";
  for (const char c : std::string_view(text).substr(quotes)) {
    if (c == '\'') result += '\'';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "'";
}

std::string tick_label(const std::string& text) {
  std::string label;
  for (const char c : text) label += c == '%' ? std::string("%%") : std::string(1, c);
  return report::quoted(label);
}

std::string script_opening(const std::filesystem::path& svg, int width, int height) {
  return fmt::format(
      "set terminal svg size {},{} dynamic noenhanced font 'sans-serif,14' background rgb 'white'\n"
      "set encoding utf8\nset output {}\n"
      "set grid xtics ytics lt 1 lw 0.5 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n",
      width, height, quoted(svg.string()));
}

Result<void> draw(const std::string& script, const std::filesystem::path& svg) {
  std::filesystem::path file = svg;
  file.replace_extension(".gnuplot");
  if (auto written = write_file(file.string(), script); !written) return written;
  auto done = run({"gnuplot", file.string()});
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!done) std::filesystem::remove(svg, ignored);  // half a picture
  return done;
}

}  // namespace assay::report
