#include "measure/content_kernels.h"

#include <cuda_runtime_api.h>

namespace assay::measure {

namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;

int grid_for(std::int64_t items) {
  const std::int64_t blocks = (items + threads - 1) / threads;
  return static_cast<int>(blocks < most_blocks ? blocks : most_blocks);
}

__device__ std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t all_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

__host__ __device__ std::int64_t content_blocks(const Elements& elements) {
  return (elements.count + elements.in_block - 1) / elements.in_block;
}

template <class Word>
__global__ void renew_whole(Word* words, Elements elements, Contents from, Contents to) {
  for (std::int64_t i = first_item(); i < elements.count; i += all_threads()) {
    words[i] = renewed(elements, words[i], i, from, to);
  }
}

template <class Word>
__global__ void renew_sparse(Word* words, Elements elements, Contents from, Contents to) {
  const std::int64_t blocks = content_blocks(elements);
  for (std::int64_t block = first_item(); block < blocks; block += all_threads()) {
    const std::int64_t begin = block * elements.in_block;
    if (from.key != 0) {
      const std::int64_t i = begin + chosen(elements, from, block);
      words[i] = renewed(elements, words[i], i, from, Contents{});
    }
    if (to.key != 0) {
      const std::int64_t i = begin + chosen(elements, to, block);
      words[i] = renewed(elements, words[i], i, Contents{}, to);
    }
  }
}

template <class Word>
__global__ void spoil_sparse(Word* words, Elements elements, std::uint64_t key) {
  const std::int64_t blocks = content_blocks(elements);
  for (std::int64_t block = first_item(); block < blocks; block += all_threads()) {
    words[block * elements.in_block + chosen(elements, Contents{key, false}, block)] =
        static_cast<Word>(~Word{0});
  }
}

// The eight bytes from that element on, as they were built.
template <class Word>
__device__ std::uint64_t built(const Word* words, const Elements& elements, const Contents& now,
                               std::int64_t begin, std::int64_t touched) {
  constexpr std::int64_t together = 8 / sizeof(Word);
  std::uint64_t taken = 0;
  for (std::int64_t k = 0; k < together && begin + k < elements.count; ++k) {
    Word word = words[begin + k];
    if (now.whole || begin + k == touched) {
      word = renewed(elements, word, begin + k, now, Contents{});
    }
    taken |= static_cast<std::uint64_t>(word) << (8 * sizeof(Word) * k);
  }
  return taken;
}

// A warp takes a block, of which each thread takes every 32nd eight bytes.
template <class Word>
__global__ void add_fingerprint(const Word* words, Elements elements, Contents now,
                                std::uint64_t key, unsigned long long* sum) {
  constexpr std::int64_t together = 8 / sizeof(Word);
  constexpr std::int64_t in_block = block_bytes / 8;
  constexpr int lanes = 32;
  const bool sparse = now.key != 0 && !now.whole;
  const bool aligned = reinterpret_cast<std::uintptr_t>(words) % 8 == 0;
  const std::int64_t blocks = content_blocks(elements);
  const auto lane = static_cast<std::int64_t>(threadIdx.x % lanes);
  std::uint64_t own = 0;
  for (std::int64_t block = first_item() / lanes; block < blocks; block += all_threads() / lanes) {
    const std::int64_t first = block * elements.in_block;
    const std::int64_t touched = sparse ? first + chosen(elements, now, block) : -1;
#pragma unroll 4
    for (std::int64_t i = lane; i < in_block; i += lanes) {
      const std::int64_t begin = first + i * together;
      const bool changed = now.whole || (touched >= begin && touched < begin + together);
      std::uint64_t taken = 0;
      if (aligned && !changed && begin + together <= elements.count) {
        taken = *reinterpret_cast<const std::uint64_t*>(words + begin);
      } else {
        taken = built(words, elements, now, begin, touched);
      }
      if (begin < elements.count) own += fingerprint_share(key, taken, block * in_block + i);
    }
  }
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
    own += __shfl_down_sync(0xffffffffu, own, apart);
  }
  if (lane == 0) atomicAdd(sum, static_cast<unsigned long long>(own));
}

template <class Visit>
void with_device_word(int size, const Visit& visit) {
  if (size == 1) return visit(static_cast<std::uint8_t*>(nullptr));
  if (size == 2) return visit(static_cast<std::uint16_t*>(nullptr));
  if (size == 4) return visit(static_cast<std::uint32_t*>(nullptr));
  visit(static_cast<std::uint64_t*>(nullptr));
}

}  // namespace

void renew_on_device(void* memory, int size, const Elements& elements, const Contents& from,
                     const Contents& to, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  with_device_word(size, [&]<class Word>(Word*) {
    auto* words = static_cast<Word*>(memory);
    if (from.whole || to.whole) {
      renew_whole<<<grid_for(elements.count), threads, 0, on>>>(words, elements, from, to);
    } else {
      renew_sparse<<<grid_for(content_blocks(elements)), threads, 0, on>>>(words, elements, from,
                                                                           to);
    }
  });
}

void spoil_on_device(void* memory, int size, const Elements& elements, std::uint64_t key,
                     void* stream) {
  with_device_word(size, [&]<class Word>(Word*) {
    spoil_sparse<<<grid_for(content_blocks(elements)), threads, 0,
                   static_cast<cudaStream_t>(stream)>>>(static_cast<Word*>(memory), elements, key);
  });
}

void add_fingerprint_on_device(const void* memory, int size, const Elements& elements,
                               const Contents& now, std::uint64_t key, void* sum, void* stream) {
  with_device_word(size, [&]<class Word>(Word*) {
    add_fingerprint<<<grid_for(content_blocks(elements) * 32), threads, 0,
                      static_cast<cudaStream_t>(stream)>>>(static_cast<const Word*>(memory),
                                                           elements, now, key,
                                                           static_cast<unsigned long long*>(sum));
  });
}

}  // namespace assay::measure
