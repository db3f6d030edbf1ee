#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "history.h"

namespace assay::memory {

// Listens to LibTorch's allocators, record functions and autograd while it is the debug info of a
// thread, from which autograd's threads inherit it. All functions may be called from any thread.
class Observation final : public c10::MemoryReportingInfoBase,
                          public std::enable_shared_from_this<Observation> {
 public:
  // now_s: seconds on the case's time base. device_bytes: in use as the device says.
  struct Sources {
    std::function<double()> now_s;
    std::function<Bytes()> device_bytes;
  };

  // level: of the allocator at the beginning. Made on the thread that calls the program.
  Observation(const c10::Device& device, Level level, Sources sources, const Limits& limits);

  // The one that the calling thread has; null: none.
  static Observation* current();

  // Around the program's own work, in this order. begin_step: ahead of its preparation.
  void building();
  void built();
  void begin_step();
  void end_step();
  bool full() const;

  // The allocator's reports. Each allocation and free, with its totals.
  void reportMemoryUsage(void* place, std::int64_t size, std::size_t allocated,
                         std::size_t reserved, c10::Device device) override;
  void reportOutOfMemory(std::int64_t size, std::size_t allocated, std::size_t reserved,
                         c10::Device device) override;
  bool memoryProfilingEnabled() const override { return true; }
  // The caching allocator's trace, which comes ahead of the report on the same allocation or free.
  void traced(Event::Action action, std::uint64_t address, Bytes size, std::uint64_t stream);

  // Of record functions: returns how deep the thread was before, or nothing to leave.
  std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function);
  void leave(const at::ObserverContext& entered);

  // Of autograd. A storage counts from its first save to its last release; save() says whether it
  // counts: parameters and inputs, which are there anyway, do not.
  bool save(const at::Tensor& tensor);
  void release(const void* storage);
  void backward_begins();

  // Where the block at this address comes from, and its size; null: not seen.
  struct Live {
    Bytes size = 0;
    int step = 0;
    Origin origin;
  };
  const Live* live_at(std::uint64_t address) const;
  const std::unordered_map<std::uint64_t, Live>& live() const { return live_; }

  // Once, at the end, when nothing listens any more.
  History take();

 private:
  struct Place {
    Origin origin;
    bool backward = false;  // within a node of autograd's backward
  };
  using Made = std::vector<std::pair<std::int64_t, int>>;  // number of the next node, path

  struct Kept {
    Saved saved;
    std::int64_t times = 0;
  };

  Place place() const;
  int operator_of(const char* name);
  void note_next_node(std::int64_t number, int path);
  int path_of_node(const at::RecordFunction& node) const;
  bool is_program() const { return std::this_thread::get_id() == program_; }
  void enter_range(const char* name, Place& next);
  void enter_node(const at::RecordFunction& node, Place& next);
  void begin_phase(std::string name, bool whole_step = false);
  void end_phase(bool whole_step = false);
  Level level_now() const;
  int child(int path, const char* range);
  void moved(Event event);
  void reached(Bytes allocated, Bytes reserved);
  bool settle(const Event& event);
  void count_site(const Origin& origin, Bytes size);
  void keep_saved();
  std::int64_t freed_unseen(std::uint64_t address) const;

  const c10::Device device_;
  const Sources sources_;
  const Limits limits_;
  const std::thread::id program_ = std::this_thread::get_id();

  mutable std::mutex mutex_;
  History history_;
  Level level_;
  int step_ = 0;
  bool in_step_ = false;                    // within its timed part
  std::ptrdiff_t phase_ = -1, whole_ = -1;  // of History::phases, while they last
  std::unordered_map<std::thread::id, std::vector<Place>> stacks_;  // innermost last
  std::unordered_map<std::uint64_t, Made> made_;  // by thread, as record functions number them
  std::unordered_map<std::string, int> operators_;
  std::unordered_map<std::uint64_t, Live> live_;
  std::map<std::pair<Origin, Bytes>, std::size_t> sites_;
  std::unordered_map<const void*, Kept> kept_;
  Bytes kept_bytes_ = 0;
  bool saved_taken_ = false;  // in this step
  // The whole; what is kept for a backward may outlive it, and the sources do not.
  bool taken_ = false;
};

}  // namespace assay::memory
