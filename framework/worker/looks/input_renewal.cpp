#include "worker/looks/input_renewal.h"

#include <fmt/format.h>

namespace assay::worker {

namespace {

constexpr std::int64_t small_bytes = 8 << 10;

bool overlap(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || a.device() != b.device()) return false;
  const auto end = [](const at::Tensor& tensor) {
    std::int64_t last = 0;
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
      last += (tensor.size(d) - 1) * tensor.stride(d);
    }
    return static_cast<const char*>(tensor.data_ptr()) +
           (last + 1) * static_cast<std::int64_t>(tensor.element_size());
  };
  const auto* a_begin = static_cast<const char*>(a.data_ptr());
  const auto* b_begin = static_cast<const char*>(b.data_ptr());
  return a_begin < end(b) && b_begin < end(a);
}

bool has_memory(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage();
}

}  // namespace

InputRenewal::InputRenewal(ProgramBoundary& program, std::string pass, std::uint64_t secret,
                           Integrity integrity)
    : program_(program), pass_(std::move(pass)), secret_(secret), common_(secret) {
  std::vector<ProgramInput> inputs;
  throw_unless_ok(program_.inputs(pass_, inputs));
  throw_unless_ok(program_.writes_outputs_anew(pass_, anew_));
  throw_unless_ok(program_.renew(pass_, 0, by_program_));
  for (ProgramInput& input : inputs) {
    input.tensor = input.tensor.detach();
    if (!measure::is_renewable(input.tensor)) continue;
    const auto bytes = static_cast<std::int64_t>(input.tensor.nbytes());
    const bool whole = integrity == Integrity::full || bytes <= small_bytes || input.below > 0;
    const auto taken = measure::fingerprint(input.tensor, input.below, {}, secret_);
    inputs_.push_back({std::move(input), whole, taken, {}});
  }
}

void InputRenewal::restore() {
  begun_ = false;
  for (Renewed& renewed : inputs_) {
    if (renewed.contents.key == 0) continue;
    measure::renew(renewed.input.tensor, renewed.input.below, renewed.contents, {});
    renewed.contents = {};
  }
  if (by_program_ > 0) throw_unless_ok(program_.renew(pass_, 0, by_program_));
}

void InputRenewal::renew_ahead() {
  if (!begun_) return;
  ++calls_;
  if (by_program_ > 0) {
    const std::uint64_t number = measure::mixed(common_ ^ measure::mixed(calls_));
    throw_unless_ok(program_.renew(pass_, number | 1, by_program_));
  }
  spoil_outputs();
  renew(true);
}

void InputRenewal::renew() {
  if (begun_) renew(false);
}

void InputRenewal::renew(bool of_before) {
  std::uint64_t number = 0;
  for (Renewed& renewed : inputs_) {
    ++number;
    if (renewed.input.of_before != of_before) continue;
    const measure::Contents next = {measure::mixed(secret_ ^ measure::mixed(calls_ << 8 | number)),
                                    renewed.whole};
    measure::renew(renewed.input.tensor, renewed.input.below, renewed.contents, next);
    renewed.contents = next;
  }
}

// Ahead of `before` the last call's outputs, whose memory the next is likely to get. Behind it that
// memory may hold what a captured backward still reads.
void InputRenewal::spoil_outputs() {
  if (!anew_) return;
  std::vector<NamedTensor> outputs;
  throw_unless_ok(program_.outputs(pass_, outputs));
  std::uint64_t number = calls_ << 8;
  for (const NamedTensor& output : outputs) {
    ++number;
    if (!has_memory(output.tensor) || !measure::is_renewable(output.tensor)) continue;
    if (!apart_from({output}).ok()) continue;
    measure::spoil(output.tensor.detach(), measure::mixed(~secret_ ^ number));
  }
}

Status InputRenewal::unchanged() const {
  for (const Renewed& renewed : inputs_) {
    const auto now =
        measure::fingerprint(renewed.input.tensor, renewed.input.below, renewed.contents, secret_);
    if (now == renewed.fingerprint) continue;
    return {Outcome::wrong, fmt::format("a call changed its input {}", renewed.input.name)};
  }
  return {};
}

Status InputRenewal::apart_from(const std::vector<NamedTensor>& outputs) const {
  for (const NamedTensor& output : outputs) {
    if (!has_memory(output.tensor)) continue;
    for (const Renewed& renewed : inputs_) {
      if (!overlap(output.tensor, renewed.input.tensor)) continue;
      return {Outcome::wrong,
              fmt::format("{} shares memory with the input {}", output.name, renewed.input.name)};
    }
  }
  return {};
}

}  // namespace assay::worker
