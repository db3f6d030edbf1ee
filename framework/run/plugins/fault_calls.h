#pragma once

#include <string>
#include <vector>

namespace assay::run {

// The calls that led to a fault, innermost first, each as "Mine::forward(…) in mine.so", or
// "mine.so + 0x1a2b" where it has no name. `trace`: lines of backtrace_symbols_fd() from the
// worker's handler. Calls of assay's own worker are left out. For functions of `plugins` without an
// exported name it asks addr2line, where that is installed.
std::vector<std::string> calls_of_fault(const std::vector<std::string>& trace,
                                        const std::vector<std::string>& plugins);

}  // namespace assay::run
