#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace assay::run {

// A subreaper is a small process between the host and each process it starts. It adopts all
// descendants of that process, whatever their session or group, and ends them when the process has
// ended, when the host says so, or when the host is gone.

// Descriptors are numbers of this process.
struct SubreaperTask {
  int control = -1;  // read end: closes when the family is to end
  int report = -1;   // write end: a ChildStart, a ChildEnd; closes when no process is left
  int failure = -1;  // write end: errno where the program cannot be run
  int input = -1;
  int output = -1;
  int errors = -1;
  std::span<const int> passed;  // the program inherits them with their numbers
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
};

struct ChildStart {
  pid_t pid = 0;
};
struct ChildEnd {
  int wait_status = 0;  // as waitpid gives it
  long peak_memory_kib = 0;
};

// Runs the subreaper in a fresh fork of a process that may have threads; allocates nothing.
[[noreturn]] void run_subreaper(const SubreaperTask& task);

// Marks a process and its descendants, to find them where their subreaper was ended.
inline constexpr const char* family_variable = "ASSAY_FAMILY";

// Ends every other process whose environment holds this value of family_variable.
void end_family(const std::string& mark);

}  // namespace assay::run
