#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "wire/channel.h"
#include "wire/collective_notes.h"

namespace assay::wire {

// Memory that a worker shares with its host, for moments when it cannot send: in a signal handler,
// in a hang, before its death.
struct StatusPage {
  static constexpr std::size_t cause_bytes = 256;

  std::atomic<std::uint32_t> asked;       // number of the host's last question
  std::atomic<std::uint32_t> answered;    // number of the last answered question
  std::atomic<std::int64_t> collectives;  // begun by this rank in the case's group
  char cause[cause_bytes];                // of a signal, zero-terminated; "": unknown
  CollectiveNotes notes;                  // of the case's group of all ranks
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// A worker's environment variable with the descriptor of the page's memory.
inline constexpr const char* status_variable = "ASSAY_STATUS";

// The host asks by this signal; the worker's handler answers in the page.
int question_signal();

// Maps a page of anonymous memory, which ends with host and worker.
class SharedStatus {
 public:
  // The host's side. Errors: the system has run out of memory or descriptors.
  static Result<SharedStatus> make();
  // The worker's side; without a page where the environment names none. Closes the descriptor.
  static SharedStatus from_environment();

  SharedStatus() = default;
  SharedStatus(SharedStatus&& other) noexcept;
  SharedStatus& operator=(SharedStatus&& other) noexcept;
  ~SharedStatus();

  StatusPage* page() const { return page_; }           // may be null
  int descriptor() const { return memory_.number(); }  // to pass on; -1 in the worker
  // Copies the page's cause; safe whatever bytes the worker left.
  std::string cause() const;

 private:
  bool map(int descriptor);

  Descriptor memory_;
  StatusPage* page_ = nullptr;
};

}  // namespace assay::wire
