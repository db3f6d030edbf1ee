#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "run/process/process.h"

namespace assay::run {

// A program to run, and what becomes of its end.
struct Job {
  std::vector<std::string> words;
  // Whether it is still worth starting; empty: yes.
  std::function<bool()> wanted = {};
  // Error: the program cannot be started. May return further jobs.
  std::function<std::vector<Job>(const Result<Captured>& ended)> ended;
};

// Runs programs beside each other, at most `at_once`; each at most an hour. Returns when none is
// left, or early, having ended all, once `stop` says so. Returns whether all were run.
bool run_jobs(std::vector<Job> jobs, std::size_t at_once, const std::function<bool()>& stop);

}  // namespace assay::run
