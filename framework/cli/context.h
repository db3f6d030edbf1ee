#pragma once

// cli is the command line: cli/commands has one file per command, cli/show prints, and this folder
// holds what commands share. It depends on every torch-free room. Start here, then
// cli/commands/commands.h.

#include <filesystem>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "cli/options.h"
#include "config/experiment.h"
#include "run/process/installation.h"
#include "store/database/database.h"

namespace assay::cli {

struct Context {
  run::Installation installation;
  catalogue::Catalogue catalogue;

  config::Environment environment() const { return {&catalogue, installation.configs()}; }
};

// `more`: files named with --plugin.
Result<Context> open_context(const std::vector<std::string>& more = {});

void add_results_option(po::options_description& options);
void add_plugin_option(po::options_description& options);
void add_experiment_options(po::options_description& options);
void add_external_option(po::options_description& options);
void add_name_options(po::options_description& options);

// Refuses a name that `compare baseline:NAME,…` could not read.
Result<void> check_baseline_name(const std::string& name);

std::filesystem::path results_folder(const po::variables_map& values);
std::filesystem::path database_file(const po::variables_map& values);
Result<store::Database> open_database(const po::variables_map& values, store::Access access);
config::Override overrides(const po::variables_map& values);

// `asked`, or the newest run's name for "latest".
Result<std::string> run_name(store::Database& database, const std::string& asked);

}  // namespace assay::cli
