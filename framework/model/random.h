#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace assay::model {

// A new generator, independent of LibTorch's default one.
at::Generator seeded_generator(at::Device device, std::uint64_t seed);

// Integers in [0, below), drawn on the CPU so that every device gets the same ones.
at::Tensor random_tokens(at::IntArrayRef sizes, std::int64_t below, at::Device device,
                         std::uint64_t seed);

}  // namespace assay::model
