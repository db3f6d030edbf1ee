#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "run/node/engine.h"

namespace assay::run {

// How a launch engine starts ranks: configs/launchers/NAME.yaml.
struct Launcher {
  std::string name;
  std::string file;
  std::string description;
  // The command that starts them, with placeholders; none: somebody else starts them. Words of one
  // group go together: a group of several is left out where a placeholder of it is empty.
  std::vector<std::vector<std::string>> command;
  // Words for a shell elsewhere, as those of ssh: quoted and joined, they end the command as one.
  std::vector<std::vector<std::string>> remote;
  bool each_rank = false;        // the command starts one rank, not all
  bool secret_by_input = false;  // address and token go to its standard input, as two lines
  // Environment variables that say whether there is an allocation, and what it has; "": none.
  std::string allocated;
  std::string nodes;
  std::string ranks;
  std::string script;  // of a batch job, with placeholders; "": none

  bool local() const { return name == "local"; }
  // Whether its command or its script has {placeholder}.
  bool uses(const std::string& placeholder) const;
};

// Reads a preset, or a .yaml file by its path. Errors have places.
Result<Launcher> read_launcher(const std::filesystem::path& configs, const std::string& name);

// The text with each {name} replaced. A name in capitals is an environment variable's. Errors: a
// name that is none of them.
Result<std::string> filled_in(const std::string& text,
                              const std::map<std::string, std::string>& names,
                              const Variables& variables);
// The words of the launcher's command.
Result<std::vector<std::string>> command_of(const Launcher& launcher,
                                            const std::map<std::string, std::string>& names,
                                            const Variables& variables);

}  // namespace assay::run
