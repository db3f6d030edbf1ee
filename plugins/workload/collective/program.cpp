#include "workload/collective/program.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

// Slots lie one behind another, as far as `span` goes, as nccl-tests' do in its largest buffer.
std::vector<Slot> CollectiveProgram::allocate(const Operation& operation) const {
  const auto element_size = static_cast<std::int64_t>(c10::elementSize(settings_.dtype));
  const std::int64_t within_span = settings_.span_bytes / (shape_.whole * element_size);
  const std::int64_t number =
      std::clamp<std::int64_t>(within_span, 1, std::max(settings_.calls_in_a_row, 1));
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
  shape_ = shape_of(wanted, settings_.bytes,
                    static_cast<std::int64_t>(c10::elementSize(settings_.dtype)), group_.size);
  slots_ = allocate(wanted);
  calls_ = layer_->calls(wanted, shape_, slots_);
  fill(wanted, settings_.calls_in_a_row > 0 && sums_in_place(wanted));
  pass_ = pass;
}

bool CollectiveProgram::sums_in_place(const Operation& operation) const {
  return operation.reduces && in_place(operation);
}

// What a call leaves unwritten is NaN.
void CollectiveProgram::fill(const Operation& operation, bool with_zeros) {
  const bool sends = std::string(operation.name) != "broadcast" || group_.rank == 0;
  for (const Slot& slot : slots_) {
    slot.out.fill_(std::numeric_limits<double>::quiet_NaN());
    if (with_zeros) {
      slot.in.zero_();
    } else if (sends) {
      pattern_.for_each_part(
          slot.in, 0,
          [&](std::int64_t first, std::int64_t count) {
            return pattern_.of_rank(device_, group_.rank, first, count);
          },
          [](at::Tensor part, const at::Tensor& values) { part.copy_(values); });
    }
  }
}

void CollectiveProgram::before(const std::string& pass) {
  const bool is_filled = pass != pass_;
  use(pass);
  if (!is_filled && settings_.calls_in_a_row == 0) fill(operation(pass), /*with_zeros=*/false);
}

void CollectiveProgram::run(const std::string& pass) {
  use(pass);
  calls_->launch(0);
  calls_->wait();
}

int CollectiveProgram::calls_in_a_row(const std::string&) { return settings_.calls_in_a_row; }

void CollectiveProgram::run_in_a_row(const std::string& pass, int calls) {
  use(pass);
  stream_.on_it([&] { calls_->in_a_row(calls); });
  stream_.await();
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
  const Shape shape = shape_of(counted, settings_.bytes, element_size, group_.size);
  const auto bytes = static_cast<double>(shape.whole * element_size);
  return {{"bytes", "", bytes}, {"bus_bytes", "", bytes * counted.bus_factor(group_.size)}};
}

void CollectiveProgram::record(const std::string& pass, Recorder& recorder) {
  if (settings_.lone_calls == 0) return;
  use(pass);
  // Lone calls restore nothing either.
  const bool refills = settings_.calls_in_a_row == 0 && sums_in_place(operation(pass));
  if (refills) fill(operation(pass), /*with_zeros=*/true);
  measure::synchronize(device_);
  stream_.on_it(
      [&] { record_lone_calls(*calls_, group_, device_, settings_.lone_calls, recorder); });
  if (refills) fill(operation(pass), /*with_zeros=*/false);
}

void CollectiveProgram::compare_part(at::Tensor values, const Source& source,
                                     Verification& verification) const {
  const auto make = [&](std::int64_t first, std::int64_t count) {
    return source.rank == of_all ? pattern_.sum(device_, first, count)
                                 : pattern_.of_rank(device_, source.rank, first, count);
  };
  pattern_.for_each_part(values, source.first, make,
                         [&](const at::Tensor& part, const at::Tensor& expected) {
                           if (verification.checked || at::equal(part, expected)) return;
                           reference::compare(verification, "out", part, expected, 0);
                         });
}

void CollectiveProgram::compare(const std::string& pass, Verification& verification) {
  for (const Source& source : sources_of(operation(pass), shape_, group_.rank, group_.size)) {
    compare_part(slots_.front().out.narrow(0, source.begin, source.count), source, verification);
  }
  if (!verification.checked) verification = {.checked = true, .worst = "out"};  // nothing differs
}

}  // namespace assay::collective
