#pragma once

// cli/commands has one file per command; cli.cpp is their table. It depends on cli, cli/show and
// compare. Start here.

#include "cli/options.h"

namespace assay::cli {

// `arguments` lacks the names of program and command.
Result<ExitCode> bench_command(const Arguments& arguments);
Result<ExitCode> run_command(const Arguments& arguments);
Result<ExitCode> plan_command(const Arguments& arguments);
Result<ExitCode> report_command(const Arguments& arguments);
Result<ExitCode> calibrate_command(const Arguments& arguments);
Result<ExitCode> compare_command(const Arguments& arguments);
Result<ExitCode> list_command(const Arguments& arguments);
Result<ExitCode> show_command(const Arguments& arguments);
Result<ExitCode> new_command(const Arguments& arguments);
Result<ExitCode> check_command(const Arguments& arguments);
Result<ExitCode> schema_command(const Arguments& arguments);
Result<ExitCode> doctor_command(const Arguments& arguments);
Result<ExitCode> export_command(const Arguments& arguments);
Result<ExitCode> import_command(const Arguments& arguments);
Result<ExitCode> rm_command(const Arguments& arguments);
Result<ExitCode> completion_command(const Arguments& arguments);
// Started by the host only.
Result<ExitCode> worker_command(const Arguments& arguments);

std::vector<std::string> command_names();

}  // namespace assay::cli
