#include "ready_order.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace assay::communication {

ReadyOrder::ReadyOrder(std::vector<std::size_t> trained, std::size_t count)
    : order_(trained.rbegin(), trained.rend()),
      item_of_(count),
      position_(count, -1),
      counts_(count, 0),
      expected_(count, 1) {}

void ReadyOrder::arrange(std::vector<Item> items, std::function<void(std::size_t)> launch) {
  items_ = std::move(items);
  launch_ = std::move(launch);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    for (const std::size_t parameter : items_[i]) item_of_[parameter] = i;
  }
}

void ReadyOrder::begin() {
  seen_ = 0;
  next_ = 0;
  std::fill(counts_.begin(), counts_.end(), 0);
  missing_.clear();
  for (const Item& item : items_) missing_.push_back(item.size());
}

void ReadyOrder::ready(std::size_t parameter) {
  ++counts_[parameter];
  position_[parameter] = seen_++;
  if (observes_ || counts_[parameter] < expected_[parameter]) return;
  if (counts_[parameter] > expected_[parameter]) {
    throw std::runtime_error(fmt::format(
        "the gradient of parameter {} changed after it had been sent: it came {} times in the "
        "first backward and more often in this one",
        parameter, expected_[parameter]));
  }
  --missing_[item_of_[parameter]];
  launch_ready();
}

void ReadyOrder::launch_ready() {
  while (next_ < items_.size() && missing_[next_] == 0) launch_(next_++);
}

bool ReadyOrder::finish(const Group& group, at::Device device) {
  while (next_ < items_.size()) launch_(next_++);
  if (!std::exchange(observes_, false)) return false;
  agree(group, device);
  return true;
}

// The latest place that a rank saw a gradient in, and the most contributions. A gradient that no
// rank had comes last.
void ReadyOrder::agree(const Group& group, at::Device device) {
  const auto count = static_cast<std::int64_t>(counts_.size());
  at::Tensor observed = at::empty({2 * count}, at::TensorOptions(at::kLong));
  auto* values = observed.mutable_data_ptr<std::int64_t>();
  std::copy(position_.begin(), position_.end(), values);
  std::copy(counts_.begin(), counts_.end(), values + count);
  if (group.size > 1) {
    std::vector<at::Tensor> tensors = {observed.to(device)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    group.backend->allreduce(tensors, options)->wait();
    observed = tensors.front().cpu();
  }
  values = observed.mutable_data_ptr<std::int64_t>();
  position_.assign(values, values + count);
  expected_.assign(values + count, values + 2 * count);
  for (std::int64_t& expected : expected_) expected = std::max<std::int64_t>(1, expected);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    const auto place = [&](std::size_t parameter) {
      return std::pair(position_[parameter] < 0, position_[parameter]);
    };
    return place(a) < place(b);
  });
}

}  // namespace assay::communication
