#pragma once

namespace assay::cli {

// The whole program; returns the exit code.
int run_command_line(int argc, char** argv);

}  // namespace assay::cli
