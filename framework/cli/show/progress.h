#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "cli/show/terminal.h"
#include "run/schedule/runner.h"

namespace assay::cli {

// Shows a run on stderr: on a terminal a bar, and above it a line for each case that is not ok,
// with its reason; elsewhere a line for every case. The run goes on where stderr cannot be written.
class Progress final : public run::Observer {
 public:
  // width: columns of the terminal now, which may change.
  explicit Progress(bool terminal, std::function<std::size_t()> width = {},
                    Colours colours = Colours(false));
  // Of standard error as it is.
  static Progress of_stderr();

  void run_started(const std::string& run, std::size_t cases, std::size_t already_done) override;
  void told(const std::string& what) override;
  void case_started(std::size_t index, const std::string& description) override;
  void case_doing(const std::string& what) override;
  void case_finished(const store::CaseResult& result) override;
  void interrupted() override;
  // Keeps the last state on screen. Drops text that a stopped terminal has not taken.
  void close();

 private:
  void say(const std::string& text);
  void draw(const std::string& activity);
  std::string outcomes() const;
  std::string time_left() const;
  std::string line(const std::string& activity, std::size_t width) const;
  // What takes the drawn bar away, also where a narrower terminal has wrapped it.
  std::string clearing();

  bool terminal_;
  std::function<std::size_t()> width_;
  Colours colours_;
  std::size_t drawn_ = 0;  // columns of the bar that is on screen
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t measured_ = 0;  // in this session, for the time left
  std::string description_;
  std::string pending_;  // text that a stopped terminal has not taken yet
  std::map<Outcome, std::size_t> outcomes_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace assay::cli
