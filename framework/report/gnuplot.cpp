#include "report/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "base/text.h"

extern char** environ;

namespace assay::report {
namespace {

// Okabe and Ito's colours, which stay apart for colour-blind readers.
constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                             "#E69F00", "#56B4E9", "#000000", "#999999"};
constexpr std::array point_types{7, 5, 9, 11, 13, 6, 4, 8};
constexpr std::size_t most_ticks = 12;
constexpr std::size_t most_label_characters = 56;
constexpr double place_width = 0.6;

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

bool drawable(const PlotData& data, const PlotPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!data.log_x || point.x > 0) &&
         (!data.log_y || point.y > 0);
}

// On a log axis a bar cannot reach zero: it is cut a decade below its point.
double bar_end(const PlotData& data, const PlotPoint& point) {
  return data.log_y ? std::max(point.low, point.y / 10) : point.low;
}

// Labels that would run into each other are turned.
std::string ticks_of(const std::vector<std::pair<std::string, double>>& labels) {
  std::vector<std::string> ticks;
  std::size_t characters = 0;
  for (const auto& [label, at] : labels) {
    ticks.push_back(fmt::format("{} {}", quoted(label), at));
    characters += display_width(label) + 2;
  }
  return fmt::format("set xtics {}({})\n",
                     characters > most_label_characters ? "rotate by -40 " : "", join(ticks, ", "));
}

std::string x_ticks(const PlotData& data) {
  std::vector<std::pair<std::string, double>> labels;
  if (!data.x_categories.empty()) {
    for (const std::string& name : data.x_categories) {
      labels.emplace_back(name, static_cast<double>(labels.size()));
    }
    return ticks_of(labels) + fmt::format("set xrange [-0.5:{}.5]\n", labels.size() - 1);
  }
  std::set<double> values;
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) values.insert(point.x);
  }
  if (values.empty() || values.size() > most_ticks) return "";
  for (const double value : values) labels.emplace_back(fmt::format("{:.6g}", value), value);
  return ticks_of(labels);
}

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

// Runs a program with its output on one pipe; its text and exit status.
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

std::string gnuplot_script(const PlotData& data, const std::filesystem::path& svg) {
  std::string script =
      "set terminal svg size 880,520 dynamic noenhanced font 'sans-serif,14' background rgb "
      "'white'\n"
      "set encoding utf8\n";
  script += "set output " + quoted(svg.string()) + "\n";
  if (!data.title.empty()) script += "set title " + quoted(data.title) + "\n";
  script += "set xlabel " + quoted(data.x_label) + "\nset ylabel " + quoted(data.y_label) + "\n";
  script += "set grid xtics ytics lt 1 lw 0.5 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n";
  script +=
      data.lines.size() > 1 ? "set key outside right top vertical Left reverse\n" : "set key off\n";
  script += "set offsets graph 0.02, graph 0.02, graph 0.05, 0\nset format y '%g'\n";
  if (data.log_x) script += "set logscale x\n";
  if (data.log_y) script += "set logscale y\n";
  if (!data.log_y) script += "set yrange [0:*]\n";
  script += x_ticks(data);
  std::vector<std::string> plots;
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    // Places have no order: lines between them would say nothing, so lines stand beside each other.
    const bool places = !data.x_categories.empty();
    const double beside =
        places ? place_width *
                     ((static_cast<double>(i) + 0.5) / static_cast<double>(data.lines.size()) - 0.5)
               : 0;
    script += fmt::format("$line{} << EOD\n", i);
    bool bars = false;
    for (const PlotPoint& point : data.lines[i].points) {
      if (!drawable(data, point)) continue;
      bars = bars || point.high > point.low;
      script +=
          fmt::format("{} {} {} {}\n", point.x + beside, point.y, bar_end(data, point), point.high);
    }
    script += "EOD\n";
    const std::string style =
        fmt::format("lw 2{} lc rgb '{}' pt {} ps 0.7 title {}", i < colours.size() ? "" : " dt 2",
                    colours[i % colours.size()], point_types[i % point_types.size()],
                    quoted(data.lines[i].name));
    const std::string_view with =
        places ? (bars ? "yerrorbars" : "points") : (bars ? "yerrorlines" : "linespoints");
    plots.push_back(
        fmt::format("$line{} using {} with {} {}", i, bars ? "1:2:3:4" : "1:2", with, style));
  }
  script += "plot " + join(plots, ", \\\n     ") + "\n";
  return script;
}

Result<void> draw(const PlotData& data, const std::filesystem::path& svg) {
  std::filesystem::path script = svg;
  script.replace_extension(".gnuplot");
  if (auto written = write_file(script.string(), gnuplot_script(data, svg)); !written)
    return written;
  auto done = run({"gnuplot", script.string()});
  std::error_code ignored;
  std::filesystem::remove(script, ignored);
  return done;
}

std::string plot_csv(const PlotData& data) {
  const auto cell = [](const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted_text = "\"";
    for (const char c : text) quoted_text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted_text + "\"";
  };
  std::string text = fmt::format("{},line,{},low,high\n", cell(data.x_label), cell(data.y_label));
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      const std::string x = data.x_categories.empty()
                                ? fmt::format("{}", point.x)
                                : cell(data.x_categories[static_cast<std::size_t>(point.x)]);
      text += fmt::format("{},{},{},{},{}\n", x, cell(line.name), point.y, point.low, point.high);
    }
  }
  return text;
}

}  // namespace assay::report
