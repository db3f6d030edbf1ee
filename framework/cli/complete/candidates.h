#pragma once

// cli/complete says what may stand next on a command line, for shells. It depends on cli. Start
// here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace assay::cli {

// What completion knows; each is asked only where it is needed, and may be slow.
struct Completion {
  std::vector<std::string> commands;
  std::function<std::string(const std::string& command)> help;  // its --help
  std::function<std::vector<std::string>()> runs, baselines, experiments, layouts, models;
  std::function<std::optional<catalogue::Catalogue>()> catalogue;
};

// The candidates for `words[index]`, of which the beginning may be written; words[0] is the
// program. All begin with that beginning; none: the shell offers files.
std::vector<std::string> candidates(const Completion& known, const std::vector<std::string>& words,
                                    std::size_t index);

// The script that makes a shell ask for them: bash, zsh or fish; nullopt for another.
std::optional<std::string> completion_script(const std::string& shell);

}  // namespace assay::cli
