#include "training/replicas.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <assay/reference.h>

#include <cmath>

#include "training/looks.h"

namespace assay::training {

namespace {

constexpr std::int64_t elements_of_a_tensor = 64;

// The largest of the ranks' own, which differs from look to look.
std::uint64_t common_seed(const Group& group, at::Device device) {
  const auto own = static_cast<std::int64_t>(reference::fresh_seed() >> 1);
  at::Tensor largest =
      at::full({1}, own, at::TensorOptions(at::kLong).device(meeting_device(group, device)));
  largest_of_ranks(group, largest);
  return static_cast<std::uint64_t>(largest.item<std::int64_t>());
}

struct Drawn {
  std::vector<std::int64_t> counts;  // by tensor
  at::Tensor elements;               // one tensor's behind another's, its norm last; float64
};

Drawn drawn_from(const std::vector<NamedTensor>& replicas, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  Drawn made;
  std::vector<at::Tensor> parts;
  for (const NamedTensor& replica : replicas) {
    const at::Tensor flat = replica.tensor.detach().reshape({-1});
    const at::Tensor places = reference::drawn_below(flat.numel(), elements_of_a_tensor, ++seed);
    parts.push_back(flat.index_select(0, places.to(flat.device())).to(at::kDouble));
    const auto wide = flat.element_size() < 4 ? at::kFloat : flat.scalar_type();
    parts.push_back(
        at::linalg_vector_norm(flat, 2, at::IntArrayRef{0}, false, wide).to(at::kDouble).view({1}));
    made.counts.push_back(places.numel() + 1);
  }
  made.elements = at::cat(parts);
  return made;
}

struct Stretch {
  std::size_t tensor = 0;
  std::int64_t begin = 0, count = 0;
};

// Elements of a tensor, or its norm.
std::vector<Stretch> stretches(const Drawn& drawn) {
  std::vector<Stretch> made;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < drawn.counts.size(); ++i) {
    made.push_back({i, begin, drawn.counts[i] - 1});
    made.push_back({i, begin + drawn.counts[i] - 1, 1});
    begin += drawn.counts[i];
  }
  return made;
}

// The farthest from the mean, by its own size.
Stretch worst_of(const std::vector<Stretch>& all, const double* own, const double* mean) {
  Stretch worst;
  double farthest = -1;
  for (const Stretch& one : all) {
    double apart = 0, size = 0;
    for (std::int64_t i = one.begin; i < one.begin + one.count; ++i) {
      apart += (own[i] - mean[i]) * (own[i] - mean[i]);
      size += mean[i] * mean[i];
    }
    if (!std::isfinite(apart)) return one;
    const double error = size > 0 ? apart / size : apart;
    if (error <= farthest) continue;
    farthest = error;
    worst = one;
  }
  return worst;
}

}  // namespace

void compare_replicas(const Group& group, at::Device device,
                      const std::vector<NamedTensor>& replicas, Verification& verification) {
  if (group.size == 1 || replicas.empty()) return;
  const std::uint64_t seed = common_seed(group, device);
  Drawn drawn;
  at::Tensor mean;
  const Status made = with_memory_on_all_ranks(group, device, [&] {
    drawn = drawn_from(replicas, seed);
    mean = drawn.elements.to(meeting_device(group, device), /*non_blocking=*/false, /*copy=*/true);
  });
  if (!made.ok()) return;
  sum_of_ranks(group, mean);
  mean = mean.div_(static_cast<double>(group.size)).cpu();
  const at::Tensor own = drawn.elements.cpu();
  const Stretch worst =
      worst_of(stretches(drawn), own.const_data_ptr<double>(), mean.const_data_ptr<double>());
  reference::compare(verification, "this rank's " + replicas[worst.tensor].name,
                     own.narrow(0, worst.begin, worst.count),
                     mean.narrow(0, worst.begin, worst.count), reference::tolerance(at::kFloat));
}

}  // namespace assay::training
