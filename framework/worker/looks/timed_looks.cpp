#include "worker/looks/timed_looks.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "measure/device.h"
#include "measure/host_time.h"
#include "model/operation_program.h"
#include "worker/compose/verification.h"
#include "worker/looks/output_check.h"

namespace assay::worker {

namespace {

constexpr int looks_at_least = 3;
constexpr std::uint64_t one_in = 10;
constexpr double most_of_the_time = 0.1;
constexpr double cheap_s = 0.5;  // looks that took no longer together are not held to that share

std::uint64_t rank_of(std::uint64_t secret, std::size_t reading) {
  return measure::mixed(secret ^ measure::mixed(reading));
}

// Element i of a tensor in any strides, by its first bytes.
std::uint64_t word_at(const at::Tensor& tensor, std::int64_t i) {
  std::int64_t place = 0;
  for (std::int64_t d = tensor.dim() - 1; d >= 0; --d) {
    place += i % tensor.size(d) * tensor.stride(d);
    i /= tensor.size(d);
  }
  const auto bytes = static_cast<std::size_t>(tensor.element_size());
  std::uint64_t word = 0;
  std::memcpy(
      &word, static_cast<const std::byte*>(tensor.const_data_ptr()) + place * tensor.element_size(),
      std::min(bytes, sizeof word));
  return word;
}

// Of 1024 elements spread over each tensor, its last one among them.
std::uint64_t glance_at(const std::vector<NamedTensor>& outputs) {
  constexpr std::int64_t words = 1024;
  std::uint64_t seen = 0;
  for (const NamedTensor& output : outputs) {
    const at::Tensor& tensor = output.tensor;
    if (!tensor.defined() || tensor.layout() != at::kStrided) continue;
    const std::int64_t last = tensor.numel();
    for (std::int64_t i = 1; i <= words && last > 0; ++i) {
      seen = measure::mixed(seen ^ word_at(tensor, last * i / words - (last * i >= words)));
    }
  }
  return seen;
}

}  // namespace

TimedLooks::TimedLooks(Plan plan) : plan_(std::move(plan)), begin_s_(measure::host_now_s()) {
  first_ = drawn_at_first();
  facts_.integrity = plan_.integrity == Integrity::full ? "full" : "fast";
}

// The three readings whose drawn numbers are the smallest.
std::set<std::size_t> TimedLooks::drawn_at_first() const {
  std::set<std::pair<std::uint64_t, std::size_t>> smallest;
  for (std::size_t reading = 0; reading < static_cast<std::size_t>(plan_.readings); ++reading) {
    smallest.emplace(rank_of(plan_.secret, reading), reading);
    if (smallest.size() > looks_at_least) smallest.erase(std::prev(smallest.end()));
  }
  std::set<std::size_t> readings;
  for (const auto& [drawn, reading] : smallest) readings.insert(reading);
  return readings;
}

// One of the readings from n to 2 n - 1, for n the planned number and its doublings.
bool TimedLooks::drawn_later(std::size_t reading) const {
  std::size_t begin = static_cast<std::size_t>(std::max(1, plan_.readings));
  while (reading >= 2 * begin) begin *= 2;
  return reading == begin + rank_of(~plan_.secret, begin) % begin;
}

double TimedLooks::worst_of_ranks(double value) const {
  return plan_.worst_of_ranks ? plan_.worst_of_ranks(value) : value;
}

double TimedLooks::share_of_time(double looks_s) const {
  return worst_of_ranks(looks_s / std::max(measure::host_now_s() - begin_s_, 1e-9));
}

// The first that compares is taken whatever it costs; a model's reference may take longer than all
// readings.
bool TimedLooks::affordable() const {
  if (facts_.looks.value_or(0) == 0) return true;
  const double spent_s = facts_.looks_s.value_or(0);
  return share_of_time(spent_s > cheap_s ? spent_s : 0) < most_of_the_time;
}

bool TimedLooks::wants(std::size_t reading) {
  const auto readings = static_cast<std::size_t>(plan_.readings);
  // What a look at the first reading needs would warm up what that is to show cold.
  if (!plan_.between) return plan_.last_is_known && reading > 0 && reading + 1 == readings;
  const bool planned = reading < readings;
  if (planned ? first_.contains(reading) : drawn_later(reading)) return affordable();
  return plan_.integrity == Integrity::full && rank_of(plan_.secret + 1, reading) % one_in == 0 &&
         share_of_time(beyond_three_s_) < most_of_the_time;
}

void TimedLooks::glance(ProgramBoundary& program) {
  glanced_.reset();
  if (!plan_.device.is_cpu() || plan_.worst_of_ranks) return;
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program.outputs(plan_.pass, outputs));
  for (const NamedTensor& output : outputs) model::require_plain(output);
  glanced_ = glance_at(outputs);
}

Status TimedLooks::still_written(const std::vector<NamedTensor>& outputs) {
  const auto glanced = std::exchange(glanced_, std::nullopt);
  if (!glanced || *glanced == glance_at(outputs)) return {};
  return {Outcome::wrong, "the output was still being written when the clock had stopped"};
}

Status TimedLooks::finite(const std::vector<NamedTensor>& outputs) const {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& output : outputs) {
    if (!output.tensor.defined()) return {Outcome::wrong, output.name + " is an undefined tensor"};
    if (!at::isFloatingType(output.tensor.scalar_type())) continue;
    const double norm = norm_of(output.tensor.detach()).item<double>();
    const std::string held = not_allowed(output.name, norm, plan_.pass, plan_.loss_scaling);
    if (!held.empty()) return {Outcome::wrong, output.name + " " + held};
  }
  return {};
}

bool TimedLooks::expect(ProgramBoundary& program) {
  const Status status = program.expect_look(plan_.pass);
  const bool lacks_memory = status.outcome == Outcome::oom;
  if (!lacks_memory) throw_unless_ok(status);
  if (worst_of_ranks(lacks_memory ? 1 : 0) == 0) return true;
  count(!lacks_memory, status.reason);
  return false;
}

// Where the device lacks the memory for it the reference is computed on the host, and nowhere where
// that lacks it too.
Status TimedLooks::compared(ProgramBoundary& program, Verification& found) {
  const auto look_on = [&](at::Device device, Verification& made) {
    return program.look(plan_.pass, {.seed = measure::secret(), .device = device}, made);
  };
  Status status = look_on(plan_.device, found);
  bool lacks_memory = status.outcome == Outcome::oom;
  if (worst_of_ranks(lacks_memory ? 1 : 0) > 0 && !plan_.device.is_cpu()) {
    measure::empty_cache(plan_.device);
    Verification on_host;
    Status of_host = look_on(at::kCPU, on_host);
    if (plan_.give_back_memory) plan_.give_back_memory();
    if (lacks_memory) {  // what another rank has found counts
      status = std::move(of_host);
      found = std::move(on_host);
    }
    lacks_memory = status.outcome == Outcome::oom;
  }
  if (lacks_memory) {
    found = {};
    found.left_out = std::move(status.reason);
    return {};
  }
  if (status.ok() && found.checked) keep_worst(found);
  return status.ok() ? status_of(found) : status;
}

void TimedLooks::keep_worst(const Verification& found) {
  if (facts_.error && found.error * *facts_.tolerance <= *facts_.error * found.tolerance) return;
  facts_.error = found.error;
  facts_.tolerance = found.tolerance;
  facts_.of = found.worst;
  facts_.error_ratio =
      found.textbook > 0 ? std::optional(found.error / found.textbook) : std::nullopt;
}

void TimedLooks::look(ProgramBoundary& program, const InputRenewal& renewal) {
  const double begin_s = measure::host_now_s();
  measure::synchronize(plan_.device);
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program.outputs(plan_.pass, outputs));
  Status found = guarded([&] { std::ranges::for_each(outputs, model::require_plain); });
  if (found.ok()) found = renewal.unchanged();
  if (found.ok()) found = still_written(outputs);
  if (found.ok()) found = renewal.apart_from(outputs);
  if (found.ok()) found = finite(outputs);
  outputs.clear();
  Verification verification;
  // All ranks compare, or none: the comparison has collectives.
  if (worst_of_ranks(found.ok() ? 0 : 1) == 0) found = compared(program, verification);
  if (!found.ok() && found.outcome != Outcome::wrong) throw_unless_ok(found);
  note(found);
  count(verification.checked || !found.ok(), verification.left_out);
  facts_.renewed_inputs = renewal.inputs();
  const double spent_s = measure::host_now_s() - begin_s;
  facts_.looks_s = facts_.looks_s.value_or(0) + spent_s;
  if (++taken_ > looks_at_least) beyond_three_s_ += spent_s;
}

// A look counts on all ranks or on none: they decide together whether another one is wanted.
void TimedLooks::count(bool compared, const std::string& why_not) {
  const bool counts = worst_of_ranks(compared ? 0 : 1) == 0;
  facts_.looks = facts_.looks.value_or(0) + (counts ? 1 : 0);
  if (counts || facts_.left_out) return;
  const char* silent = compared ? "another rank compared nothing" : "the workload compares nothing";
  facts_.left_out = why_not.empty() ? silent : why_not;
}

void TimedLooks::note(const Status& status) {
  if (status.ok() || !status_.ok()) return;
  status_ = {Outcome::wrong, "in a timed call: " + status.reason};
}

}  // namespace assay::worker
