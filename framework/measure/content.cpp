#include "measure/content.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#ifdef ASSAY_WITH_KERNELS
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "measure/content_kernels.h"
#endif

namespace assay::measure {

namespace {

// A thread's share, 1 MiB: less is not worth waking another thread.
constexpr std::int64_t blocks_a_thread = 256;

// Sign and topmost fraction bit; 0 for integers.
std::uint64_t float_mask(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::uint64_t{1} << 63 | std::uint64_t{1} << 51;
    case at::kFloat:
      return 0x80400000u;
    case at::kHalf:
      return 0x8200u;
    case at::kBFloat16:
      return 0x8040u;
    default:
      return 0;
  }
}

Elements elements_of(const at::Tensor& tensor, std::int64_t below) {
  Elements elements;
  elements.count = tensor.numel();
  elements.in_block = block_bytes / static_cast<std::int64_t>(tensor.element_size());
  elements.mask = float_mask(tensor.scalar_type());
  elements.below = static_cast<std::uint64_t>(below);
  elements.any_bits = elements.mask == 0;
  return elements;
}

std::int64_t blocks_of(const Elements& elements) {
  return (elements.count + elements.in_block - 1) / elements.in_block;
}

// Calls visit(a null pointer to the word) with the unsigned type of that size.
template <class Visit>
void with_word(int size, const Visit& visit) {
  switch (size) {
    case 1:
      return visit(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return visit(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return visit(static_cast<std::uint32_t*>(nullptr));
    case 8:
      return visit(static_cast<std::uint64_t*>(nullptr));
    default:
      throw std::invalid_argument("elements of this size cannot be renewed");
  }
}

template <class Word>
void renew_block(Word* words, const Elements& elements, std::int64_t block, const Contents& from,
                 const Contents& to) {
  const std::int64_t begin = block * elements.in_block;
  if (from.whole || to.whole) {
    const std::int64_t end = std::min(begin + elements.in_block, elements.count);
    for (std::int64_t i = begin; i < end; ++i) words[i] = renewed(elements, words[i], i, from, to);
    return;
  }
  if (from.key != 0) {
    const std::int64_t i = begin + chosen(elements, from, block);
    words[i] = renewed(elements, words[i], i, from, {});
  }
  if (to.key != 0) {
    const std::int64_t i = begin + chosen(elements, to, block);
    words[i] = renewed(elements, words[i], i, {}, to);
  }
}

template <class Word>
std::uint64_t fingerprint_of_block(const Word* words, const Elements& elements, std::int64_t block,
                                   const Contents& now, std::uint64_t key) {
  constexpr std::int64_t words_in_block = block_bytes / 8;
  std::array<std::uint64_t, words_in_block> copy{};
  const std::int64_t begin = block * elements.in_block;
  const std::int64_t count = std::min(elements.in_block, elements.count - begin);
  std::memcpy(copy.data(), words + begin, static_cast<std::size_t>(count) * sizeof(Word));
  if (now.key != 0) {
    std::array<Word, block_bytes / sizeof(Word)> built;
    std::memcpy(built.data(), copy.data(), block_bytes);
    const std::int64_t first = now.whole ? 0 : chosen(elements, now, block);
    const std::int64_t last = now.whole ? count : first + 1;
    for (std::int64_t i = first; i < last; ++i) {
      Word& word = built[static_cast<std::size_t>(i)];
      word = renewed(elements, word, begin + i, now, {});
    }
    std::memcpy(copy.data(), built.data(), block_bytes);
  }
  std::uint64_t sum = 0;
  const std::int64_t used = (count * static_cast<std::int64_t>(sizeof(Word)) + 7) / 8;
  for (std::int64_t i = 0; i < used; ++i) {
    sum += fingerprint_share(key, copy[static_cast<std::size_t>(i)], block * words_in_block + i);
  }
  return sum;
}

template <class Word>
Word* words_of(const at::Tensor& tensor) {
  return static_cast<Word*>(tensor.data_ptr());
}

template <class Visit>
void for_each_block(const Elements& elements, const Visit& visit) {
  at::parallel_for(0, blocks_of(elements), blocks_a_thread,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t block = begin; block < end; ++block) visit(block);
                   });
}

#ifdef ASSAY_WITH_KERNELS
void* current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
#endif

int size_of(const at::Tensor& tensor) { return static_cast<int>(tensor.element_size()); }

}  // namespace

bool is_renewable(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0 || !tensor.is_non_overlapping_and_dense()) {
    return false;
  }
  const auto dtype = tensor.scalar_type();
  const bool known = float_mask(dtype) != 0 || at::isIntegralType(dtype, /*includeBool=*/false);
#ifdef ASSAY_WITH_KERNELS
  return known && (tensor.is_cpu() || tensor.is_cuda());
#else
  return known && tensor.is_cpu();
#endif
}

void renew(const at::Tensor& tensor, std::int64_t below, const Contents& from, const Contents& to) {
  const Elements elements = elements_of(tensor, below);
#ifdef ASSAY_WITH_KERNELS
  if (tensor.is_cuda()) {
    renew_on_device(tensor.data_ptr(), size_of(tensor), elements, from, to, current_stream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return;
  }
#endif
  with_word(size_of(tensor), [&]<class Word>(Word*) {
    for_each_block(elements, [&, words = words_of<Word>(tensor)](std::int64_t block) {
      renew_block(words, elements, block, from, to);
    });
  });
}

std::uint64_t fingerprint(const at::Tensor& tensor, std::int64_t below, const Contents& now,
                          std::uint64_t key) {
  const Elements elements = elements_of(tensor, below);
#ifdef ASSAY_WITH_KERNELS
  if (tensor.is_cuda()) {
    const at::Tensor sum =
        at::zeros({1}, at::TensorOptions().device(tensor.device()).dtype(at::kLong));
    add_fingerprint_on_device(tensor.data_ptr(), size_of(tensor), elements, now, key,
                              sum.data_ptr(), current_stream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return static_cast<std::uint64_t>(sum.item<std::int64_t>());
  }
#endif
  std::uint64_t whole = 0;
  with_word(size_of(tensor), [&]<class Word>(Word*) {
    const Word* words = words_of<Word>(tensor);
    whole = at::parallel_reduce(
        std::int64_t{0}, blocks_of(elements), blocks_a_thread, std::uint64_t{0},
        [&](std::int64_t begin, std::int64_t end, std::uint64_t sum) {
          for (std::int64_t block = begin; block < end; ++block) {
            sum += fingerprint_of_block(words, elements, block, now, key);
          }
          return sum;
        },
        [](std::uint64_t a, std::uint64_t b) { return a + b; });
  });
  return whole;
}

void spoil(const at::Tensor& tensor, std::uint64_t key) {
  const Elements elements = elements_of(tensor, 0);
  if (elements.any_bits) return;
#ifdef ASSAY_WITH_KERNELS
  if (tensor.is_cuda()) {
    spoil_on_device(tensor.data_ptr(), size_of(tensor), elements, key, current_stream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return;
  }
#endif
  const Contents place{key, false};
  with_word(size_of(tensor), [&]<class Word>(Word*) {
    for_each_block(elements, [&, words = words_of<Word>(tensor)](std::int64_t block) {
      words[block * elements.in_block + chosen(elements, place, block)] =
          static_cast<Word>(~Word{0});
    });
  });
}

std::uint64_t secret() {
  std::uint64_t drawn = 0;
  while (drawn == 0) {
    if (::getrandom(&drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn)) drawn = 0;
  }
  return drawn;
}

}  // namespace assay::measure
