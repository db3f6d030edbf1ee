#include "run/plugins/process_jobs.h"

#include <chrono>
#include <deque>
#include <iterator>
#include <list>

#include "base/text.h"

namespace assay::run {

namespace {

using JobClock = std::chrono::steady_clock;

constexpr double job_limit_s = 3600;
constexpr std::size_t kept_bytes = 1 << 20;  // of what a program prints: the beginning

struct RunningJob {
  Job job;
  Process process;
  Captured captured = {};
  JobClock::time_point begun = JobClock::now();

  bool late() const {
    return std::chrono::duration<double>(JobClock::now() - begun).count() > job_limit_s;
  }

  void read() {
    for (auto [stream, text] : {std::pair(&process.output(), &captured.output),
                                std::pair(&process.errors(), &captured.errors)}) {
      drain(*stream, *text);
      if (text->size() > kept_bytes) text->resize(kept_bytes);
    }
  }

  // A compiler's descendants end with it, so its streams are at their ends soon after.
  bool over() {
    read();
    if (!process.ended()) return false;
    return !process.output().open() && !process.errors().open();
  }
};

class JobRunner {
 public:
  JobRunner(std::vector<Job> jobs, std::size_t at_once)
      : waiting_(std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end())),
        at_once_(at_once) {}

  bool run(const std::function<bool()>& stop) {
    while (!waiting_.empty() || !running_.empty()) {
      if (stop && stop()) return false;
      start_some();
      wait_for_some();
      end_some();
    }
    return true;
  }

 private:
  void start_some() {
    while (running_.size() < at_once_ && !waiting_.empty()) {
      Job job = std::move(waiting_.front());
      waiting_.pop_front();
      if (job.wanted && !job.wanted()) continue;
      Process::Command command;
      command.arguments = job.words;
      auto process = Process::start(command);
      if (process) {
        running_.push_back({std::move(job), std::move(*process)});
      } else {
        add(job.ended(tl::unexpected(process.error())));
      }
    }
  }

  void wait_for_some() {
    constexpr int look_at_stop_ms = 200;
    if (running_.empty()) return;
    std::vector<pollfd> watched;
    for (const RunningJob& each : running_) {
      watched.push_back({each.process.end_descriptor(), POLLIN, 0});
      each.process.watch_streams(watched);
    }
    ::poll(watched.data(), watched.size(), look_at_stop_ms);
  }

  void end_some() {
    for (auto at = running_.begin(); at != running_.end();) {
      const bool over = at->over();
      if (!over && !at->late()) {
        ++at;
        continue;
      }
      if (over) {
        at->captured.end = at->process.wait();
      } else {
        at->captured.late = true;
        at->captured.stopped = "it did not end within " + human_duration(job_limit_s);
        at->process.kill();
      }
      RunningJob done = std::move(*at);
      at = running_.erase(at);
      add(done.job.ended(std::move(done.captured)));
    }
  }

  void add(std::vector<Job> more) {
    // Ahead of the others: what is ready to be linked is.
    waiting_.insert(waiting_.begin(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  }

  std::deque<Job> waiting_;
  std::list<RunningJob> running_;
  std::size_t at_once_;
};

}  // namespace

bool run_jobs(std::vector<Job> jobs, std::size_t at_once, const std::function<bool()>& stop) {
  return JobRunner(std::move(jobs), at_once).run(stop);
}

}  // namespace assay::run
