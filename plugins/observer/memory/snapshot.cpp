#include "snapshot.h"

#include <fmt/format.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "pickle.h"

namespace assay::memory {

namespace {

constexpr std::size_t most_frames = 40;

const char* name_of(Event::Action action) {
  switch (action) {
    case Event::Action::allocate:
      return "alloc";
    case Event::Action::free:
      return "free_requested";
    case Event::Action::free_completed:
      return "free_completed";
    case Event::Action::segment:
      return "segment_alloc";
    case Event::Action::segment_free:
      return "segment_free";
    case Event::Action::out_of_memory:
      return "oom";
  }
  return "";
}

// A pickled event needs at most so many bytes beside its frames.
constexpr std::size_t bytes_of_event = 96;

class Writer {
 public:
  Writer(const History& history, const std::vector<Allocation>& largest) : history_(history) {
    for (const Allocation& each : largest) stacks_[{each.path, each.op}] = each.functions;
  }

  Snapshot write(std::size_t most_bytes) {
    Snapshot snapshot;
    pickle_.begin_dict();
    pickle_.text("segments");
    pickle_.begin_list();
    for (const Segment& segment : history_.segments) write_segment(segment);
    pickle_.end_list();
    pickle_.text("device_traces");
    pickle_.begin_list();
    for (int device = 0; device < history_.device; ++device) {
      pickle_.begin_list();
      pickle_.end_list();
    }
    const std::size_t room = most_bytes > pickle_.size() ? most_bytes - pickle_.size() : 0;
    const std::size_t kept = std::min(history_.events.size(), room / bytes_of_event);
    snapshot.left_out = history_.events.size() - kept;
    write_trace(snapshot.left_out);
    pickle_.end_list();
    pickle_.text("allocator_settings");
    pickle_.begin_dict();
    pickle_.end_dict();
    pickle_.text("external_annotations");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.end_dict();
    snapshot.pickle = pickle_.finish();
    return snapshot;
  }

 private:
  void field(const char* name, std::int64_t value) {
    pickle_.text(name);
    pickle_.integer(value);
  }
  void field(const char* name, const char* value) {
    pickle_.text(name);
    pickle_.text(value);
  }

  void write_trace(std::size_t first) {
    pickle_.begin_list();
    for (std::size_t i = first; i < history_.events.size(); ++i) {
      const Event& event = history_.events[i];
      write_event(event, event.action);
      // A CPU frees at once.
      if (event.action == Event::Action::free && !history_.on_device) {
        write_event(event, Event::Action::free_completed);
      }
    }
    pickle_.end_list();
  }

  void write_event(const Event& event, Event::Action action) {
    pickle_.begin_dict();
    field("action", name_of(action));
    if (action == Event::Action::out_of_memory) {
      field("device_free", std::int64_t{0});
    } else {
      field("addr", static_cast<std::int64_t>(event.address));
    }
    field("size", event.size);
    field("stream", static_cast<std::int64_t>(event.stream));
    field("time_us",
          static_cast<std::int64_t>(std::llround((history_.unix_s + event.time_s) * 1e6)));
    pickle_.text("frames");
    write_frames(event.origin);
    pickle_.end_dict();
  }

  void write_segment(const Segment& segment) {
    Bytes allocated = 0;
    for (const Block& block : segment.blocks) allocated += block.allocated ? block.size : 0;
    pickle_.begin_dict();
    field("device", history_.device);
    field("address", static_cast<std::int64_t>(segment.address));
    field("total_size", segment.size);
    field("allocated_size", allocated);
    field("active_size", allocated);
    field("requested_size", allocated);
    field("stream", static_cast<std::int64_t>(segment.stream));
    field("segment_type", segment.large ? "large" : "small");
    pickle_.text("segment_pool_id");
    pickle_.integer(0);
    pickle_.integer(0);
    pickle_.end_tuple();
    pickle_.text("is_expandable");
    pickle_.boolean(segment.expandable);
    pickle_.text("frames");
    write_frames({});
    pickle_.text("blocks");
    pickle_.begin_list();
    for (const Block& block : segment.blocks) {
      pickle_.begin_dict();
      field("address", static_cast<std::int64_t>(block.address));
      field("size", block.size);
      field("requested_size", block.requested);
      field("state", block.allocated ? "active_allocated" : "inactive");
      pickle_.text("frames");
      write_frames(block.origin);
      pickle_.end_dict();
    }
    pickle_.end_list();
    pickle_.end_dict();
  }

  void write_frame(const std::string& name, const char* kind) {
    pickle_.begin_dict();
    field("name", name.c_str());
    field("filename", kind);
    field("line", std::int64_t{0});
    pickle_.end_dict();
  }

  // The operator, the ranges around it from within, and the C++ stack where it is known.
  void write_frames(const Origin& origin) {
    const auto known = frames_.find(origin);
    if (known != frames_.end()) return pickle_.again(known->second);
    std::vector<std::string> ranges = history_.paths.names(origin.path);
    std::string path;
    for (const std::string& name : ranges) {
      path += (path.empty() ? "" : ";") + kernels::without_number(name);
    }
    const std::string& op = history_.operators[static_cast<std::size_t>(origin.op)];
    pickle_.begin_list();
    if (!op.empty()) write_frame(op, "operator");
    std::ranges::reverse(ranges);
    for (const std::string& range : ranges) write_frame(range, "range");
    if (const auto stack = stacks_.find({path, op}); stack != stacks_.end()) {
      for (const std::string& function : stack->second) write_frame(function, "C++");
    }
    pickle_.end_list();
    frames_.emplace(origin, pickle_.remember());
  }

  const History& history_;
  Pickle pickle_;
  std::map<Origin, std::uint32_t> frames_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> stacks_;
};

// What lies in every stack and says nothing: this observer, the allocators and the dispatcher.
bool is_plumbing(std::string_view function) {
  for (const char* part :
       {"torch::unwind", "assay::memory", "reportMemoryUsage", "c10::impl::", "c10::Dispatcher",
        "c10::detail", "CachingAllocator", "DefaultCPUAllocator", "ProfiledCPUMemoryReporter",
        "c10::alloc_cpu", "c10::Storage", "at::detail::empty_", "wrap_kernel_functor",
        "::redispatch(", "__libc_start", "_start"}) {
    if (function.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void symbolise(std::vector<Allocation>& allocations) {
  std::vector<void*> places;
  for (const Allocation& each : allocations) {
    places.insert(places.end(), each.stack.begin(), each.stack.end());
  }
  std::vector<torch::unwind::Frame> frames;
  try {
    // By the tables of exported symbols: those of debug information take minutes to read.
    frames = torch::unwind::symbolize(places, torch::unwind::Mode::dladdr);
  } catch (const std::exception&) {
    return;  // not on this machine
  }
  auto frame = frames.begin();
  for (Allocation& each : allocations) {
    for (std::size_t i = 0; i < each.stack.size() && frame != frames.end(); ++i, ++frame) {
      const std::string& function = frame->funcname;
      const bool says_something = !function.empty() && function != "??" && !is_plumbing(function);
      if (says_something && each.functions.size() < most_frames) each.functions.push_back(function);
    }
  }
}

Snapshot snapshot_of(const History& history, const std::vector<Allocation>& largest,
                     std::size_t most_bytes) {
  return Writer(history, largest).write(most_bytes);
}

std::string allocations_text(const std::vector<Allocation>& largest) {
  std::string text;
  for (const Allocation& each : largest) {
    text += fmt::format("{} × {} bytes = {} bytes: {}\n", each.count, each.size, each.sum(),
                        each.from());
    for (const std::string& function : each.functions) text += "    " + function + "\n";
  }
  return text;
}

}  // namespace assay::memory
