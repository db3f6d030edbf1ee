#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "run/workers/host_memory.h"
#include "wire/channel.h"

namespace assay::run {

// How a process ended, in words: "exit code 3", "signal 11 (SIGSEGV: Segmentation fault)".
struct ProcessEnd {
  bool signalled = false;
  int number = 0;                      // exit code or signal
  std::int64_t peak_memory_bytes = 0;  // the most it held at once; 0: not known
  std::string text() const;
  // Whether the system ended it for want of memory, in words; kills: counted while it ran.
  std::optional<std::string> out_of_memory(const std::string& who,
                                           const OutOfMemoryKills& kills) const;
};

// A child process without a shell, in a process group of its own, with its standard output and
// error captured. When it has ended, when the object goes and when this process goes, however that
// happens, it is killed with everything that it has started and left (run/workers/subreaper.h).
class Process {
 public:
  struct Command {
    std::vector<std::string> arguments;              // [0]: the program, searched in PATH
    std::map<std::string, std::string> environment;  // added to this process' own
    bool standard_input = false;                     // a pipe to write to, else /dev/null
    std::vector<int> passed;  // descriptors of this process that it keeps, under their numbers
  };

  static Result<Process> start(const Command& command);
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process() { kill(); }

  pid_t pid() const { return pid_; }
  // The process that gathers in what it has started and left: both are of this one's family.
  pid_t subreaper() const { return subreaper_; }
  // Whether it is on its way out, which may take the system seconds: a GPU's memory is returned
  // first.
  bool is_ending() const;
  bool started() const { return pid_ > 0; }
  // For an event loop: readable once the process has ended; -1 when that is known.
  int end_descriptor() const { return end_ ? -1 : report_.number(); }
  wire::Descriptor& input() { return input_; }
  wire::Descriptor& output() { return output_; }
  wire::Descriptor& errors() { return errors_; }
  // Adds its open streams to what an event loop polls.
  void watch_streams(std::vector<pollfd>& watched) const;
  // Appends what it has printed, without blocking.
  void read_streams(std::string& printed);

  // Not blocking: empty while it runs.
  std::optional<ProcessEnd> ended();
  // Waits for it to end.
  ProcessEnd wait();
  // Begins kill() without waiting, so that several processes can end side by side.
  void kill_soon() { control_.close(); }
  // It and all it has started, at once. Returns when they are gone, or, where the system does not
  // let go of one of them, after half a minute.
  void kill();

 private:
  void take_end(int wait_ms);

  pid_t pid_ = -1;
  pid_t subreaper_ = -1;
  std::string mark_;          // of its family
  wire::Descriptor control_;  // closing it ends them all
  wire::Descriptor report_;
  std::optional<ProcessEnd> end_;
  wire::Descriptor input_;
  wire::Descriptor output_;
  wire::Descriptor errors_;
};

// Whether something can be read, or the end is there, within the time; -1: for ever.
bool readable(int descriptor, int wait_ms = 0);

// Appends what is there without blocking, at most about 1 MiB, so that a process that never stops
// printing cannot hold its reader up; closes the stream at its end and is false then.
bool drain(wire::Descriptor& stream, std::string& text);

// A text that nobody guesses: 32 hexadecimal digits.
std::string random_token();

// Leaves the last 8 KiB of what a program has printed: where its last words are.
void keep_tail(std::string& printed);

// All a process said, and how it ended.
struct Captured {
  ProcessEnd end;
  std::string output;
  std::string errors;
  std::string
      stopped;        // which of its bounds it broke, and was killed for; "" where it ended itself
  bool late = false;  // that was its time

  bool ok() const { return stopped.empty() && !end.signalled && end.number == 0; }
};

// What a process may take. Of one that has bounds, only the last that it prints is kept.
struct Bounds {
  std::chrono::duration<double> time;
  MemoryGuard memory;
};

// Runs a process to its end.
Result<Captured> capture(const Process::Command& command,
                         const std::optional<Bounds>& bounds = std::nullopt);

}  // namespace assay::run
