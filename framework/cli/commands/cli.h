#pragma once

namespace assay::cli {

int run_command_line(int argc, char** argv);

}  // namespace assay::cli
