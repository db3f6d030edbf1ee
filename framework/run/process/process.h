#pragma once

// run/process holds what the host does with processes: starting and ending them, their memory,
// environment and output, the subreaper. It depends on wire and health. Start here.

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "run/process/host_memory.h"
#include "wire/channel.h"

namespace assay::run {

struct ProcessEnd {
  bool signalled = false;
  int number = 0;                      // exit code or signal
  std::int64_t peak_memory_bytes = 0;  // 0: unknown
  // "exit code 3", "signal 11 (SIGSEGV: Segmentation fault)".
  std::string text() const;
  // The reason, where the system ended it for lack of memory; by_system: it ended some process of
  // the machine meanwhile.
  std::optional<std::string> out_of_memory(const std::string& who, bool by_system) const;
};

// A child process, started without a shell in a process group of its own, with its standard output
// and error captured. All its descendants are killed when it has ended, when the object is
// destroyed and when this process ends in any way (run/process/subreaper.h).
class Process {
 public:
  struct Command {
    std::vector<std::string> arguments;              // [0]: the program, searched in PATH
    std::map<std::string, std::string> environment;  // added to this process' own
    bool standard_input = false;                     // a pipe to write to, else /dev/null
    std::vector<int> passed;  // this process' descriptors that it inherits with their numbers
  };

  static Result<Process> start(const Command& command);
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process() { kill(); }

  pid_t pid() const { return pid_; }
  // The parent of the process and of its orphaned descendants.
  pid_t subreaper() const { return subreaper_; }
  // Whether the system is taking it down, which may last seconds while it frees a GPU's memory.
  bool is_ending() const;
  bool started() const { return pid_ > 0; }
  // For an event loop: readable once the process has ended; -1 after ended() or wait() said so.
  int end_descriptor() const { return end_ ? -1 : report_.number(); }
  wire::Descriptor& input() { return input_; }
  wire::Descriptor& output() { return output_; }
  wire::Descriptor& errors() { return errors_; }
  void watch_streams(std::vector<pollfd>& watched) const;
  // Appends what it has printed; never blocks.
  void read_streams(std::string& printed);

  // Empty while it runs; never blocks.
  std::optional<ProcessEnd> ended();
  ProcessEnd wait();
  // Begins kill() without waiting, so that several processes can end side by side.
  void kill_soon() { control_.close(); }
  // Kills it and its descendants. Returns when they are gone, or after 30 s where the system keeps
  // one of them.
  void kill();

 private:
  void take_end(int wait_ms);

  pid_t pid_ = -1;
  pid_t subreaper_ = -1;
  std::string mark_;          // family_variable of its family
  wire::Descriptor control_;  // closing it ends the family
  wire::Descriptor report_;
  std::optional<ProcessEnd> end_;
  wire::Descriptor input_;
  wire::Descriptor output_;
  wire::Descriptor errors_;
};

// Whether data or the end of the stream arrives within the time; -1: no limit.
bool readable(int descriptor, int wait_ms = 0);

// Appends what can be read without blocking, at most about 1 MiB, so that an endless stream cannot
// hold up its reader. Closes the stream at its end and returns false then.
bool drain(wire::Descriptor& stream, std::string& text);

// 32 hexadecimal digits from the system's random source.
std::string random_token();

// Keeps the last 8 KiB.
void keep_tail(std::string& printed);

struct Captured {
  ProcessEnd end;
  std::string output;
  std::string errors;
  std::string stopped;  // the broken bound it was killed for; "" where it ended itself
  bool late = false;    // the broken bound is the time

  bool ok() const { return stopped.empty() && !end.signalled && end.number == 0; }
};

struct Bounds {
  std::chrono::duration<double> time;
  MemoryGuard memory;
};

// Runs a process to its end. With bounds it keeps only the tail of each stream (keep_tail).
Result<Captured> capture(const Process::Command& command,
                         const std::optional<Bounds>& bounds = std::nullopt);

}  // namespace assay::run
