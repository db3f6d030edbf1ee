#include "compile/fused_parts/weight_copies.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace assay::fused {

namespace {

at::Tensor memory_for(const std::vector<at::Tensor>& weights, at::ScalarType dtype) {
  std::int64_t rows = 0;
  for (const at::Tensor& weight : weights) rows += weight.size(0);
  return at::empty({rows, weights.front().size(1)},
                   weights.front().options().dtype(dtype).requires_grad(false));
}

at::Tensor alive(const c10::weak_intrusive_ptr<c10::TensorImpl>& weight) {
  auto implementation = weight.lock();
  if (!implementation) return {};
  return at::Tensor(std::move(implementation));
}

}  // namespace

void WeightCopies::refresh(Member& member, const at::Tensor& weight) {
  const auto version = static_cast<std::int64_t>(weight._version());
  if (member.version == version && member.data == weight.const_data_ptr()) return;
  const at::NoGradGuard no_graph;
  member.copy.copy_(weight);
  member.version = version;
  member.data = weight.const_data_ptr();
}

bool WeightCopies::is_of(const Group& group, const std::vector<at::Tensor>& weights,
                         at::ScalarType dtype) {
  if (group.copy.scalar_type() != dtype || group.members.size() != weights.size()) return false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const at::Tensor known = alive(group.members[i].weight);
    if (!known.is_same(weights[i]) || group.members[i].copy.sizes() != weights[i].sizes()) {
      return false;
    }
  }
  return true;
}

// A weight that is gone keeps its address until then, so no other is taken for it.
void WeightCopies::drop_dead() {
  std::erase_if(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    bool dead = false;
    for (const Member& member : group.members) dead = dead || member.weight.expired();
    return dead;
  });
  copies_.clear();
  for (const auto& [first, group] : groups_) {
    for (const Member& member : group.members) {
      copies_[alive(member.weight).unsafeGetTensorImpl()] = member.copy;
    }
  }
}

at::Tensor WeightCopies::of(const std::vector<at::Tensor>& weights, at::ScalarType dtype) {
  if (const auto found = groups_.find(weights.front().unsafeGetTensorImpl());
      keeps_ && found != groups_.end() && is_of(found->second, weights, dtype)) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      refresh(found->second.members[i], weights[i]);
    }
    return found->second.copy;
  }
  if (keeps_) drop_dead();
  Group group;
  group.copy = memory_for(weights, dtype);
  std::int64_t row = 0;
  bool known = false;
  for (const at::Tensor& weight : weights) {
    known = known || copies_.contains(weight.unsafeGetTensorImpl());
    Member member{.weight = c10::weak_intrusive_ptr<c10::TensorImpl>(weight.getIntrusivePtr()),
                  .copy = group.copy.narrow(0, row, weight.size(0))};
    row += weight.size(0);
    refresh(member, weight);
    group.members.push_back(std::move(member));
  }
  // One copy a weight: whoever takes it in two groups gets the second anew each time.
  if (keeps_ && !known) {
    groups_[weights.front().unsafeGetTensorImpl()] = group;
    drop_dead();
  }
  return group.copy;
}

at::Tensor WeightCopies::kept(const at::Tensor& weight) const {
  const auto found = copies_.find(weight.unsafeGetTensorImpl());
  return found == copies_.end() ? at::Tensor() : found->second;
}

void WeightCopies::refresh() {
  for (auto& [first, group] : groups_) {
    for (Member& member : group.members) {
      if (const at::Tensor weight = alive(member.weight); weight.defined()) {
        refresh(member, weight);
      }
    }
  }
}

}  // namespace assay::fused
