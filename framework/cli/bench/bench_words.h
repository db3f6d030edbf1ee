#pragma once

// cli/bench measures variants without a YAML file: it reads the command line (bench_words.h),
// writes the experiment (bench_experiment.h), compares the variants of the run (bench_result.h) and
// shows that (bench_output.h). It depends on cli/show and compare. Start here.

#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"

namespace assay::cli {

// `assay bench attention naive mine.cu --seq-len 1024,4096`.
struct BenchWords {
  std::string kind;
  std::vector<std::string> subjects;  // variants and sources, in order
  // Of an experiment: the name with underscores and the value as YAML, a list as "[1024, 4096]".
  std::vector<std::pair<std::string, std::string>> parameters;
  Arguments options;  // the command's own
};

// Tells the command's own options from parameters of an experiment: what `usage` does not have is a
// parameter. Dashes and underscores are the same. A parameter without a value is `true`.
Result<BenchWords> read_bench_words(const Usage& usage, const Arguments& arguments);

// "1024,4096" as "[1024, 4096]"; commas in brackets, braces and quotes stay.
std::string as_yaml(const std::string& value);

}  // namespace assay::cli
