#pragma once

// run/node holds what runs a rank where it is: its process on this machine, and the agent of a
// launch with its watch over its node. It depends on run/process and run/cases. Start here, then
// read rank_agent.h.

#include <poll.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/process/process.h"
#include "wire/collective_notes.h"

namespace assay::run {

// A rank's worker process as its host sees it, on this machine or on another. The destructor ends
// it and all that it has started.
class RankProcess {
 public:
  virtual ~RankProcess() = default;

  // Adds the descriptors that are readable when it has ended or printed.
  virtual void watch(std::vector<pollfd>& watched) const = 0;
  // Appends what it has printed; never blocks.
  virtual void read_output(std::string& printed) = 0;
  // Waits until what it has printed before can be read.
  virtual void await_output() = 0;

  virtual bool ended() = 0;  // never blocks
  virtual ProcessEnd wait() = 0;
  // Whether the system is taking it down.
  virtual bool is_ending() const = 0;
  // Why it is out of the host's reach: "node n2 has not answered for 12 s"; "" while it is not.
  virtual std::string out_of_reach() const { return {}; }
  // Once it has ended: why its node ended it; whether the system did for lack of memory, where
  // `kills` were counted on this machine; what its status page says of a signal.
  virtual std::string stopped() const { return {}; }
  virtual bool ended_by_system(const OutOfMemoryKills& kills) const { return kills.any(); }
  virtual std::string cause() const = 0;

  // Begins to end it without waiting, so that several can end side by side.
  virtual void kill_soon() = 0;
  virtual void kill() = 0;

  // Asks its status page; answered() holds once the answer is there. Collectives it had begun when
  // last asked; empty where it has not answered.
  virtual void ask() = 0;
  virtual bool answered() = 0;
  virtual std::optional<std::int64_t> collectives() const = 0;
  // The last collectives that it has begun; none where its status page is on another machine.
  virtual std::vector<wire::CollectiveNote> last_collectives() const { return {}; }

  // The folder on its node for the files that its cases leave, in a folder for each case; "": none
  // could be made. Nothing: the host's own, which it shares.
  virtual std::optional<std::string> folder() const { return std::nullopt; }
  // Copies a file from below folder() to this machine, unless it is larger than the limit. Returns
  // its size; 0 where the folder is the host's own.
  virtual Result<std::int64_t> take_file(const std::string& file, const std::filesystem::path& to,
                                         std::int64_t limit_bytes);
  // Removes what the case of that number has left below folder().
  virtual void remove_case(int) {}
  // Its node's CLOCK_MONOTONIC less this machine's.
  virtual double clock_ahead_s() const { return 0; }

  // The process on this machine under which it runs; nothing where another watches its memory.
  virtual std::optional<pid_t> subreaper() const { return std::nullopt; }
};

// "rank 2", "ranks 2, 3".
std::string ranks_in_words(const std::vector<std::size_t>& ranks);

}  // namespace assay::run
