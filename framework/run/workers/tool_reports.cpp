#include "run/workers/tool_reports.h"

#include <fmt/format.h>

namespace assay::run {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Nsight Compute replays each kernel; Nsight Systems sorts all events.
constexpr std::chrono::minutes longest_writing(15);

fs::path tool_folder(const fs::path& folder, std::size_t rank) {
  return folder / "tool" / std::to_string(rank);
}

void await_end(Worker& worker, Interrupt& interrupt) {
  const auto limit = Clock::now() + longest_writing;
  while (!worker.process->ended() && Clock::now() < limit && !interrupt.stop_now()) {
    std::vector<pollfd> watched = {{interrupt.descriptor(), POLLIN, 0}};
    worker.process->watch(watched);
    ::poll(watched.data(), watched.size(), 1000);
    interrupt.update();
    worker.read_output();
  }
  worker.read_output();
}

}  // namespace

void put_under(const ProfilingTool& tool, const fs::path& folder, std::size_t rank,
               Process::Command& command) {
  const fs::path reports = tool_folder(folder, rank);
  std::error_code not_made;  // the tool then says why
  fs::create_directories(reports, not_made);
  const std::vector<std::string> words = tool.command(reports);
  command.arguments.insert(command.arguments.begin(), words.begin(), words.end());
  command.environment[wire::under_variable] = tool.name();
}

void take_tool_reports(const ProfilingTool& tool, const fs::path& folder, const std::string& pass,
                       std::vector<Worker>& workers, Interrupt& interrupt, CaseEnd& end) {
  for (Worker& worker : workers) worker.channel = {};
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    Worker& worker = workers[rank];
    if (worker.done) await_end(worker, interrupt);
    const fs::path file = tool_folder(folder, rank) / tool.report();
    if (std::error_code missing; fs::is_regular_file(file, missing)) {
      end.artefacts.push_back({.pass = pass,
                               .rank = static_cast<int>(rank),
                               .name = tool.report(),
                               .file = file.string(),
                               .media_type = "application/octet-stream"});
      continue;
    }
    if (end.outcome != Outcome::ok) continue;
    const std::string last = worker.last_lines();
    end.outcome = Outcome::error;
    end.reason =
        fmt::format("{} left no report of {}{}", tool.name(), rank_name(rank, workers.size()),
                    last.empty() ? "" : "; it printed: " + last);
  }
}

}  // namespace assay::run
