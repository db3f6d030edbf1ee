#pragma once

#include <chrono>
#include <map>
#include <string>

#include "run/schedule/runner.h"

namespace assay::cli {

// Shows a run on stderr. On a terminal one line is kept up to date, and above it stands a line for
// each case that is not ok, with its reason; elsewhere every case has such a line. Where nobody can
// be told, because the terminal is gone or the disk of a log is full, the run goes on.
class Progress final : public run::Observer {
 public:
  explicit Progress(bool terminal) : terminal_(terminal) {}

  void run_started(const std::string& run, std::size_t cases, std::size_t already_done) override;
  void case_started(std::size_t index, const std::string& description) override;
  void case_doing(const std::string& what) override;
  void case_finished(const store::CaseResult& result) override;
  void interrupted() override;
  // Leaves the last state standing. What a stopped terminal has not taken until now is dropped: the
  // database and the report have it.
  void close();

 private:
  void say(const std::string& text);
  void draw(const std::string& doing);
  std::string outcomes() const;
  std::string time_left() const;

  bool terminal_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t measured_ = 0;  // in this session, for the time left
  std::string description_;
  std::string unsaid_;
  std::map<Outcome, std::size_t> outcomes_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace assay::cli
