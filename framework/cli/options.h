#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace assay::cli {

namespace po = boost::program_options;

using Arguments = std::vector<std::string>;

// What `assay COMMAND --help` shows and the parser accepts.
struct Usage {
  std::string command;     // "run"
  std::string positional;  // "FILE…"
  std::string summary;     // what it does; lines of any length
  std::string example;     // one or more command lines
  po::options_description options;
  po::positional_options_description positions;

  std::string text() const;
};

// nullopt after --help, which it prints.
Result<std::optional<po::variables_map>> parse(const Usage& usage, const Arguments& arguments);

std::string text_or(const po::variables_map& values, const std::string& name,
                    const std::string& otherwise);
std::vector<std::string> texts(const po::variables_map& values, const std::string& name);

}  // namespace assay::cli
