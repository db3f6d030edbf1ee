#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace assay::run {

// Between the host and each process it starts stands a subreaper: a small process that gathers in
// whatever the process starts and leaves behind, in whatever session or group that is, and ends all
// of it when the process has ended, when the host says so, or when the host is gone, however it
// went.

// What a subreaper is given; descriptors are this process' own numbers.
struct SubreaperTask {
  int control = -1;  // read end: closes when all of it is to end
  int report = -1;  // write end: one ChildStart, one ChildEnd, and its closing when nothing is left
  int failure = -1;  // write end: errno, where the program cannot be run
  int input = -1;
  int output = -1;
  int errors = -1;
  std::span<const int> passed;  // descriptors the program keeps under their numbers
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
};

struct ChildStart {
  pid_t pid = 0;
};
struct ChildEnd {
  int wait_status = 0;       // as waitpid gives it
  long peak_memory_kib = 0;  // the most memory it held at once
};

// The subreaper's life. Called in a fresh fork of a process that may have threads: it allocates
// nothing.
[[noreturn]] void run_subreaper(const SubreaperTask& task);

// Marks a process and all it starts, so that they are found where their subreaper was ended.
inline constexpr const char* family_variable = "ASSAY_FAMILY";

// Ends every process whose environment holds this value of family_variable, this one excepted.
void end_family(const std::string& mark);

}  // namespace assay::run
