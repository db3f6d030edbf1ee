#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "wire/channel.h"

namespace assay::wire {

// What a worker leaves in memory that it shares with its host, for moments in which it cannot send:
// in a signal handler, in a hang, before its death.
struct StatusPage {
  static constexpr std::size_t cause_bytes = 256;

  std::atomic<std::uint32_t> asked;     // the host's count of questions
  std::atomic<std::uint32_t> answered;  // the question that the numbers below answer
  std::atomic<std::int64_t>
      collectives;          // collectives of the case's group that this rank has begun
  char cause[cause_bytes];  // why a signal came, zero-terminated; "" where nothing is known
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// The descriptor of the page's memory, a number, in a worker's environment.
inline constexpr const char* status_variable = "ASSAY_STATUS";

// The signal by which a host asks; a worker that handles it answers in the page.
int question_signal();

// A mapping of a page. It is anonymous memory: nothing of it stays when host and worker have gone.
class SharedStatus {
 public:
  // The host's side. Errors: the system has no memory or descriptors left.
  static Result<SharedStatus> make();
  // The worker's side, from its environment; without a page where there is none. Closes the
  // descriptor: the mapping stays.
  static SharedStatus from_environment();

  SharedStatus() = default;
  SharedStatus(SharedStatus&& other) noexcept;
  SharedStatus& operator=(SharedStatus&& other) noexcept;
  ~SharedStatus();

  StatusPage* page() const { return page_; }           // null where there is none
  int descriptor() const { return memory_.number(); }  // to pass on; -1 in the worker
  // What the worker left as the cause of its end; its memory may hold anything.
  std::string cause() const;

 private:
  bool map(int descriptor);

  Descriptor memory_;
  StatusPage* page_ = nullptr;
};

}  // namespace assay::wire
