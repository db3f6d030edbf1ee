#include "workload/collective/program.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "measure/device.h"
#include "workload/collective/lone.h"

namespace assay::collective {

namespace {

at::ScalarType dtype_named(const std::string& name) {
  if (name == "fp16") return at::kHalf;
  return name == "bf16" ? at::kBFloat16 : at::kFloat;
}

}  // namespace

Settings settings_of(const CaseContext& context) {
  const Options& options = context.parameters;
  Settings settings;
  settings.bytes = integer_option(options, "size");
  settings.span_bytes = integer_option(options, "span");
  settings.placement = text_option(options, "placement");
  settings.dtype = dtype_named(text_option(options, "dtype"));
  settings.calls_in_a_row = static_cast<int>(integer_option(options, "calls"));
  settings.lone_calls = static_cast<int>(integer_option(options, "lone_calls"));
  return settings;
}

std::vector<Source> sources_of(const Operation& operation, const Shape& shape, int rank,
                               int ranks) {
  const std::string name = operation.name;
  if (name == "all_reduce") return {{0, shape.out, of_all, 0}};
  if (name == "reduce") {
    if (rank != 0) return {};
    return {{0, shape.out, of_all, 0}};
  }
  if (name == "reduce_scatter") return {{0, shape.out, of_all, rank * shape.share}};
  if (name == "broadcast") return {{0, shape.out, 0, 0}};
  if (name == "send_recv") return {{0, shape.out, (rank + ranks - 1) % ranks, 0}};
  std::vector<Source> sources;
  for (int other = 0; other < ranks; ++other) {
    const std::int64_t first = name == "all_to_all" ? rank * shape.share : 0;
    sources.push_back({other * shape.share, shape.share, other, first});
  }
  return sources;
}

CollectiveProgram::CollectiveProgram(const CaseContext& context, const Settings& settings,
                                     std::shared_ptr<Layer> layer)
    : group_(context.group),
      device_(context.device),
      settings_(settings),
      stream_(context.device),
      pattern_(settings.dtype, context.group.size),
      layer_(std::move(layer)) {}

bool CollectiveProgram::in_place(const Operation& operation) const {
  if (settings_.placement == "auto") return operation.in_place_by_c10d;
  if (settings_.placement == "in_place" && !operation.may_be_in_place) {
    throw Unsupported(
        fmt::format("{} does not work in place: ranks would overwrite what they "
                    "still have to send",
                    operation.name));
  }
  return settings_.placement == "in_place";
}

Shape CollectiveProgram::shape(const Operation& operation) const {
  return shape_of(operation, settings_.bytes,
                  static_cast<std::int64_t>(c10::elementSize(settings_.dtype)), group_.size);
}

std::int64_t CollectiveProgram::number_of_slots(const Operation& operation) const {
  const auto element_size = static_cast<std::int64_t>(c10::elementSize(settings_.dtype));
  const std::int64_t bytes = settings_.span_bytes > 0 ? settings_.span_bytes : most_bytes_of_a_row;
  return std::clamp<std::int64_t>(bytes / (shape(operation).whole * element_size), 1,
                                  std::max(settings_.calls_in_a_row, 1));
}

bool CollectiveProgram::adds_up_in_a_row(const Operation& operation) const {
  return operation.reduces && in_place(operation) && settings_.span_bytes > 0 &&
         settings_.calls_in_a_row > number_of_slots(operation);
}

// Slots lie one behind another, as far as `span` goes, as nccl-tests' do in its largest buffer.
std::vector<Slot> CollectiveProgram::allocate(const Operation& operation) const {
  const std::int64_t number = number_of_slots(operation);
  const auto options = at::TensorOptions().dtype(settings_.dtype).device(device_);
  const auto buffer = [&](std::int64_t last) {
    return at::empty({(number - 1) * shape_.whole + last}, options);
  };
  std::vector<Slot> slots;
  const bool shared_buffer = in_place(operation);
  const at::Tensor outs = buffer(shared_buffer ? shape_.whole : shape_.out);
  const at::Tensor ins = shared_buffer ? outs : buffer(shape_.in);
  const std::int64_t own_share = shared_buffer ? group_.rank * shape_.share : 0;
  for (std::int64_t i = 0; i < number; ++i) {
    const std::int64_t begin = i * shape_.whole;
    slots.push_back(
        {ins.narrow(0, begin + (shape_.in < shape_.whole ? own_share : 0), shape_.in),
         outs.narrow(0, begin + (shape_.out < shape_.whole ? own_share : 0), shape_.out)});
  }
  return slots;
}

void CollectiveProgram::use(const std::string& pass) {
  if (pass == pass_) return;
  calls_.reset();
  slots_.clear();
  pass_.clear();
  const Operation& wanted = operation(pass);
  shape_ = shape(wanted);
  slots_ = allocate(wanted);
  calls_ = layer_->calls(wanted, shape_, slots_);
  tile_ = pattern_.of_rank(device_, 0, group_.rank, shape_.in);
  number_ = 0;
  zeros_ = adds_up_in_a_row(wanted);
  fill(wanted, slots_.size());
  pass_ = pass;
}

bool CollectiveProgram::sends(const Operation& operation) const {
  return std::string_view(operation.name) != "broadcast" || group_.rank == 0;
}

void CollectiveProgram::take_contents(std::uint64_t number) {
  if (number == number_) return;
  tile_.copy_(pattern_.of_rank(device_, number, group_.rank, shape_.in));
  number_ = number;
}

// The first slots. What a call leaves unwritten is NaN. A slot's contents go on where those of the
// one before it end.
void CollectiveProgram::fill(const Operation& operation, std::size_t slots) {
  for (std::size_t i = 0; i < slots; ++i) {
    const Slot& slot = slots_[i];
    slot.out.fill_(std::numeric_limits<double>::quiet_NaN());
    if (zeros_) {
      slot.in.zero_();
    } else if (sends(operation)) {
      pattern_.for_each_part(slot.in, static_cast<std::int64_t>(i) * shape_.whole, tile_,
                             [](at::Tensor part, const at::Tensor& values) { part.copy_(values); });
    }
  }
  used_ = 0;
}

// Replays of a captured call use the first slot without being seen here.
void CollectiveProgram::before(const std::string& pass) {
  const bool is_filled = pass != pass_;
  use(pass);
  const Operation& called = operation(pass);
  const bool restores = settings_.calls_in_a_row == 0 || in_place(called);
  if (!is_filled && restores) fill(called, used_slots());
}

void CollectiveProgram::run(const std::string& pass) {
  use(pass);
  used_ = std::max<std::size_t>(used_, 1);
  calls_->launch(0);
  calls_->wait();
}

int CollectiveProgram::calls_in_a_row(const std::string& pass) {
  if (settings_.calls_in_a_row == 0 || settings_.span_bytes > 0) return settings_.calls_in_a_row;
  return static_cast<int>(number_of_slots(operation(pass)));
}

void CollectiveProgram::run_in_a_row(const std::string& pass, int calls) {
  use(pass);
  used_ = std::max(used_, static_cast<std::size_t>(calls));
  stream_.on_it([&] { calls_->in_a_row(calls); });
  stream_.await();
}

int CollectiveProgram::renew(const std::string& pass, std::uint64_t number) {
  const Operation& renewed = operation(pass);
  if (adds_up_in_a_row(renewed)) return 0;
  if (number == 0 && pass != pass_) return 1;  // will be built so
  use(pass);
  take_contents(number);
  fill(renewed, slots_.size());
  return 1;
}

Verification CollectiveProgram::look(const std::string& pass, const Look&) {
  Verification verification;
  if (zeros_) return verification;
  const Operation& called = operation(pass);
  if (sends(called) && !in_place(called)) {
    for (std::size_t i = 0; i < used_slots(); ++i) {
      compare_part(slots_[i].in, static_cast<std::int64_t>(i) * shape_.whole, tile_,
                   "an input behind the call", verification);
    }
  }
  compare(pass, verification);
  return verification;
}

std::vector<NamedTensor> CollectiveProgram::outputs(const std::string& pass) {
  if (pass != pass_ || sources_of(operation(pass), shape_, group_.rank, group_.size).empty()) {
    return {};
  }
  return {{"out", slots_.front().out}};
}

std::vector<Count> CollectiveProgram::counts(const std::string& pass) {
  const Operation& counted = operation(pass);
  const auto element_size = static_cast<std::int64_t>(c10::elementSize(settings_.dtype));
  const auto bytes = static_cast<double>(shape(counted).whole * element_size);
  return {{"bytes", "", bytes}, {"bus_bytes", "", bytes * counted.bus_factor(group_.size)}};
}

void CollectiveProgram::record(const std::string& pass, Recorder& recorder) {
  if (settings_.lone_calls == 0) return;
  use(pass);
  const bool in_a_row = std::exchange(zeros_, false);
  measure::synchronize(device_);
  const Operation& called = operation(pass);
  LoneWork work;
  work.renew = [&](std::uint64_t number) {
    take_contents(number);
    fill(called, 1);
    used_ = 1;
  };
  work.look = [&] { return look(pass, {}); };
  stream_.on_it([&] {
    record_lone_calls(*calls_, work, group_, device_, settings_.lone_calls, recorder);
    take_contents(0);
    zeros_ = in_a_row;
    fill(called, slots_.size());
  });
  measure::synchronize(device_);
}

void CollectiveProgram::compare_part(const at::Tensor& values, std::int64_t first,
                                     const at::Tensor& tile, const char* name,
                                     Verification& verification) const {
  pattern_.for_each_part(values, first, tile,
                         [&](const at::Tensor& part, const at::Tensor& expected) {
                           if (verification.checked || at::equal(part, expected)) return;
                           reference::compare(verification, name, part, expected, 0);
                         });
}

void CollectiveProgram::compare(const std::string& pass, Verification& verification) {
  for (const Source& source : sources_of(operation(pass), shape_, group_.rank, group_.size)) {
    const at::Tensor tile = source.rank == of_all
                                ? pattern_.sum(device_, number_, source.count)
                                : pattern_.of_rank(device_, number_, source.rank, source.count);
    for (std::size_t i = 0; i < used_slots(); ++i) {
      compare_part(slots_[i].out.narrow(0, source.begin, source.count),
                   source.first + static_cast<std::int64_t>(i) * shape_.whole, tile, "out",
                   verification);
    }
  }
  if (!verification.checked) verification = {.checked = true, .worst = "out"};  // nothing differs
}

}  // namespace assay::collective
