#include "model/random.h"

#include <ATen/Context.h>
#include <ATen/ops/randint.h>

namespace assay::model {

at::Generator seeded_generator(at::Device device, std::uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

at::Tensor random_tokens(at::IntArrayRef sizes, std::int64_t below, at::Device device,
                         std::uint64_t seed) {
  return at::randint(0, below, sizes, seeded_generator(at::kCPU, seed), at::kLong).to(device);
}

}  // namespace assay::model
