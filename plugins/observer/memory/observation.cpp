#include "observation.h"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <string_view>

namespace assay::memory {

namespace {

constexpr std::string_view step_range = "assay.step";
constexpr const char* set_up = "set-up";
constexpr std::size_t most_nodes = 1'000'000;

struct Entered final : at::ObserverContext {
  explicit Entered(std::size_t places) : depth(places) {}
  std::size_t depth;
};

// Collectives announce themselves as ranges: nccl:all_reduce.
bool is_range(const at::RecordFunction& function) {
  return function.scope() == at::RecordScope::USER_SCOPE &&
         std::string_view(function.name()).find(':') == std::string_view::npos;
}

// Operators that make a tensor for another one.
bool is_helper(std::string_view name) {
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") ||
         name.starts_with("aten::resize_");
}

bool is_engine_call(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}

std::vector<void*> stack_here() {
  try {
    return torch::unwind::unwind();
  } catch (const std::exception&) {
    return {};  // not on this machine
  }
}

void widen(Extent& extent, Bytes bytes) {
  extent.least = std::min(extent.least, bytes);
  extent.most = std::max(extent.most, bytes);
}

}  // namespace

Observation::Observation(const c10::Device& device, Level level, Sources sources,
                         const Limits& limits)
    : device_(device), sources_(std::move(sources)), limits_(limits), level_(level) {
  history_.on_device = !device.is_cpu();
  history_.device = device.is_cpu() ? 0 : device.index();
}

Observation* Observation::current() {
  return dynamic_cast<Observation*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE));
}

Level Observation::level_now() const {
  Level level = level_;
  level.device = sources_.device_bytes();
  return level;
}

void Observation::building() {
  const std::lock_guard lock(mutex_);
  begin_phase(set_up);
}

void Observation::built() {
  const std::lock_guard lock(mutex_);
  end_phase();
  history_.built = level_now();
}

void Observation::begin_step() {
  const std::lock_guard lock(mutex_);
  history_.steps = ++step_;
  saved_taken_ = false;
  history_.saved.clear();
  history_.saved_most = kept_bytes_;
  begin_phase(set_up);
}

void Observation::end_step() {
  const std::lock_guard lock(mutex_);
  if (!saved_taken_) keep_saved();
  end_phase();
  history_.end = level_now();
}

bool Observation::full() const {
  const std::lock_guard lock(mutex_);
  return history_.cut;
}

// Of the calling thread. A thread that names nothing works for the program's.
Observation::Place Observation::place() const {
  const auto at = [&](std::thread::id thread) -> const Place* {
    const auto found = stacks_.find(thread);
    return found == stacks_.end() || found->second.empty() ? nullptr : &found->second.back();
  };
  if (const Place* own = at(std::this_thread::get_id())) return *own;
  const Place* program = at(program_);
  return program == nullptr ? Place{} : Place{{program->origin.path, 0}, false};
}

// A program may have any number of names: those beyond the limits are not told apart.
int Observation::operator_of(const char* name) {
  const auto known = operators_.find(name);
  if (known != operators_.end()) return known->second;
  if (history_.operators.size() >= limits_.operators) return 0;
  operators_.emplace(name, static_cast<int>(history_.operators.size()));
  history_.operators.emplace_back(name);
  return static_cast<int>(history_.operators.size()) - 1;
}

int Observation::child(int path, const char* range) {
  return history_.paths.size() >= limits_.paths ? path : history_.paths.child(path, range);
}

// A node belongs where the last record function lay that began while it was still to be made: only
// changes of the path are needed.
void Observation::note_next_node(std::int64_t number, int path) {
  if (number < 0) return;
  Made& made = made_[at::RecordFunction::currentThreadId()];
  if (!made.empty() && (made.back().first > number || made.back().second == path)) return;
  if (made.size() >= most_nodes) made.clear();
  made.emplace_back(number, path);
}

int Observation::path_of_node(const at::RecordFunction& node) const {
  const auto thread = made_.find(node.forwardThreadId());
  if (thread == made_.end()) return Paths::none;
  const auto after =
      std::ranges::upper_bound(thread->second, node.seqNr(), {}, &Made::value_type::first);
  return after == thread->second.begin() ? Paths::none : (after - 1)->second;
}

void Observation::enter_range(const char* name, Place& next) {
  next.origin.op = 0;
  if (name == step_range) {
    next.origin.path = Paths::none;
    if (!is_program()) return;
    end_phase();
    begin_phase("", true);
    in_step_ = true;
    return;
  }
  if (is_program() && in_step_ && phase_ < 0) begin_phase(name);
  next.origin.path = child(next.origin.path, name);
}

// What a node does belongs where autograd made it; what it calls within, too.
void Observation::enter_node(const at::RecordFunction& node, Place& next) {
  next.origin.op = operator_of(node.name());
  if (!next.backward && node.seqNr() >= 0 && history_.paths.size() < limits_.paths) {
    const int made = path_of_node(node);
    if (made != Paths::none) next.origin.path = history_.paths.below(next.origin.path, made);
  }
  next.backward = true;
}

std::unique_ptr<at::ObserverContext> Observation::enter(const at::RecordFunction& function) {
  if (function.isAsync()) return nullptr;  // it ends on another thread
  const std::lock_guard lock(mutex_);
  Place next = place();
  auto& places = stacks_[std::this_thread::get_id()];
  const std::size_t depth = places.size();
  const bool is_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  if (is_range(function)) {
    enter_range(function.name(), next);
  } else if (is_node) {
    enter_node(function, next);
  } else if (const std::string_view name = function.name(); is_engine_call(name)) {
    next.origin.op = operator_of("sum of gradients");
  } else if (!is_helper(name) || next.origin.op == 0) {
    next.origin.op = operator_of(function.name());
  }
  if (!is_node) note_next_node(function.seqNr(), next.origin.path);
  places.push_back(next);
  return std::make_unique<Entered>(depth);
}

void Observation::leave(const at::ObserverContext& context) {
  const std::size_t depth = static_cast<const Entered&>(context).depth;
  const std::lock_guard lock(mutex_);
  auto& places = stacks_[std::this_thread::get_id()];
  if (places.size() > depth) places.resize(depth);
  if (!is_program() || !in_step_) return;
  // Depth 0 is the step's own range, 1 a phase.
  if (depth == 0) {
    in_step_ = false;
    end_phase(true);
  } else if (depth == 1 && phase_ >= 0) {
    end_phase();
  }
}

void Observation::begin_phase(std::string name, bool whole_step) {
  if (history_.phases.size() >= limits_.phases) {
    history_.cut = true;
    return;
  }
  (whole_step ? whole_ : phase_) = static_cast<std::ptrdiff_t>(history_.phases.size());
  Phase phase{std::move(name), step_, sources_.now_s()};
  phase.allocated = {level_.allocated, level_.allocated};
  phase.reserved = {level_.reserved, level_.reserved};
  phase.device = sources_.device_bytes();
  history_.phases.push_back(std::move(phase));
}

void Observation::end_phase(bool whole_step) {
  std::ptrdiff_t& index = whole_step ? whole_ : phase_;
  if (index < 0) return;
  Phase& phase = history_.phases[static_cast<std::size_t>(std::exchange(index, -1))];
  phase.end_s = sources_.now_s();
  phase.device = std::max(phase.device, sources_.device_bytes());
}

void Observation::reached(Bytes allocated, Bytes reserved) {
  level_.allocated = allocated;
  level_.reserved = reserved;
  for (const std::ptrdiff_t index : {phase_, whole_}) {
    if (index < 0) continue;
    Phase& phase = history_.phases[static_cast<std::size_t>(index)];
    widen(phase.allocated, allocated);
    widen(phase.reserved, reserved);
  }
}

// Keeps the event while there is room.
void Observation::moved(Event event) {
  reached(event.allocated, event.reserved);
  if (history_.events.size() >= limits_.events) {
    history_.cut = true;
    return;
  }
  event.time_s = sources_.now_s();
  history_.events.push_back(event);
}

// Completes what the trace has just said of it: the size of the block and the totals, from there
// on.
bool Observation::settle(const Event& event) {
  constexpr std::size_t most_between = 8;
  auto& events = history_.events;
  for (std::size_t back = 1; back <= std::min(most_between, events.size()); ++back) {
    Event& traced = events[events.size() - back];
    if (traced.address != event.address || traced.action != event.action) continue;
    traced.size = event.size;
    traced.origin = event.origin;
    for (std::size_t i = events.size() - back; i < events.size(); ++i) {
      events[i].allocated = event.allocated;
      events[i].reserved = event.reserved;
    }
    reached(event.allocated, event.reserved);
    return true;
  }
  return false;
}

void Observation::count_site(const Origin& origin, Bytes size) {
  const auto found = sites_.find({origin, size});
  std::size_t index = found == sites_.end() ? history_.sites.size() : found->second;
  if (found == sites_.end()) {
    if (index >= limits_.sites) {
      history_.cut = true;
      return;
    }
    sites_.emplace(std::pair(origin, size), index);
    history_.sites.push_back({origin, size, 0, 0, stack_here()});
  }
  Site& site = history_.sites[index];
  if (site.step != step_) site.count = 0;
  site.step = step_;
  ++site.count;
}

// Bytes that lay at this place on a CPU and were freed by a thread without debug info.
std::int64_t Observation::freed_unseen(std::uint64_t address) const {
  const auto lying = live_.find(address);
  return lying == live_.end() ? 0 : lying->second.size;
}

void Observation::reportMemoryUsage(void* place_of, std::int64_t size, std::size_t allocated,
                                    std::size_t reserved, c10::Device device) {
  if (device.type() != device_.type() || (device_.is_cuda() && device != device_)) return;
  const std::lock_guard lock(mutex_);
  if (taken_ || size == 0) return;
  const auto address = reinterpret_cast<std::uint64_t>(place_of);
  Event event;
  event.address = address;
  event.action = size > 0 ? Event::Action::allocate : Event::Action::free;
  event.size = size > 0 ? size : -size;
  if (device_.is_cpu()) {
    if (size < 0 && !live_.contains(address)) return;  // older than the observation
    event.allocated = level_.allocated + size - (size > 0 ? freed_unseen(address) : 0);
  } else {
    event.allocated = static_cast<Bytes>(allocated);
    event.reserved = static_cast<Bytes>(reserved);
  }
  if (size > 0) {
    event.origin = place().origin;
    live_[address] = {size, step_, event.origin};
    count_site(event.origin, size);
  } else if (const auto lying = live_.find(address); lying != live_.end()) {
    event.origin = lying->second.origin;
    live_.erase(lying);
  }
  if (device_.is_cpu() || !settle(event)) moved(event);
}

void Observation::reportOutOfMemory(std::int64_t size, std::size_t, std::size_t,
                                    c10::Device device) {
  const std::lock_guard lock(mutex_);
  if (taken_ || device.type() != device_.type()) return;
  Event event;
  event.action = Event::Action::out_of_memory;
  event.size = size;
  event.allocated = level_.allocated;
  event.reserved = level_.reserved;
  event.origin = place().origin;
  moved(event);
}

void Observation::traced(Event::Action action, std::uint64_t address, Bytes size,
                         std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  if (taken_) return;
  Event event;
  event.action = action;
  event.address = address;
  event.size = size;
  event.stream = stream;
  event.allocated = level_.allocated;
  event.reserved = level_.reserved;
  if (action == Event::Action::segment) event.reserved += size;
  if (action == Event::Action::segment_free) event.reserved -= size;
  const auto lying = live_.find(address);
  event.origin = lying != live_.end() ? lying->second.origin : place().origin;
  moved(event);
}

bool Observation::save(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage() || tensor.device().type() != device_.type()) {
    return false;
  }
  const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  const std::lock_guard lock(mutex_);
  const auto lying = live_.find(reinterpret_cast<std::uint64_t>(storage->data()));
  if (lying == live_.end() || lying->second.step != step_) return false;
  Kept& kept = kept_[storage];
  if (++kept.times > 1) return true;
  kept.saved = {place().origin, static_cast<Bytes>(storage->nbytes())};
  kept_bytes_ += kept.saved.bytes;
  history_.saved_most = std::max(history_.saved_most, kept_bytes_);
  return true;
}

void Observation::release(const void* storage) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(storage);
  if (found == kept_.end() || --found->second.times > 0) return;
  kept_bytes_ -= found->second.saved.bytes;
  kept_.erase(found);
}

void Observation::backward_begins() {
  const std::lock_guard lock(mutex_);
  if (!saved_taken_) keep_saved();
}

void Observation::keep_saved() {
  saved_taken_ = true;
  std::map<Origin, Bytes> sums;
  for (const auto& [storage, kept] : kept_) sums[kept.saved.origin] += kept.saved.bytes;
  history_.saved.clear();
  for (const auto& [origin, bytes] : sums) history_.saved.push_back({origin, bytes});
}

const Observation::Live* Observation::live_at(std::uint64_t address) const {
  const auto found = live_.find(address);
  return found == live_.end() ? nullptr : &found->second;
}

History Observation::take() {
  const std::lock_guard lock(mutex_);
  end_phase();
  end_phase(true);
  taken_ = true;
  return std::move(history_);
}

}  // namespace assay::memory
