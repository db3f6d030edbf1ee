#pragma once

#include <cstdint>

// What a renewal changes of one element, for the CPU's code and for the GPU's kernels alike.
namespace assay::measure {

// Contents of one call: a secret number, 0 for the contents as they were built.
struct Contents {
  std::uint64_t key = 0;
  bool whole = false;  // all blocks' elements may differ; otherwise one of each block does
};

// Contents are changed in blocks, one page or line of which a sparse change touches.
inline constexpr std::int64_t block_bytes = 4096;

// The elements of a tensor, seen as unsigned words.
struct Elements {
  std::int64_t count = 0;
  std::int64_t in_block = 1;
  std::uint64_t mask = 0;  // bits that a change flips: of a float its sign and topmost fraction bit
  std::uint64_t below = 0;  // above 0: whole numbers, to which a change adds, modulo this
  bool any_bits = false;    // a change flips bits of its own, instead of the mask's
};

// splitmix64's finaliser (Steele et al. 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The element of a block that a sparse change touches, counted from the block's begin.
constexpr std::int64_t chosen(const Elements& elements, const Contents& contents,
                              std::int64_t block) {
  const std::int64_t begin = block * elements.in_block;
  const std::int64_t left = elements.count - begin;
  const std::int64_t size = left < elements.in_block ? left : elements.in_block;
  return static_cast<std::int64_t>(mixed(contents.key ^ static_cast<std::uint64_t>(block)) %
                                   static_cast<std::uint64_t>(size));
}

// By what the contents differ from those built, at an element that they touch.
constexpr std::uint64_t change_at(const Elements& elements, const Contents& contents,
                                  std::int64_t element) {
  const std::uint64_t drawn = mixed(~contents.key ^ static_cast<std::uint64_t>(element));
  if (elements.below > 0) {
    return elements.below > 1 ? 1 + drawn % (elements.below - 1) : 0;
  }
  if (elements.any_bits) return drawn | 1;
  if (!contents.whole) return elements.mask;
  // Sign and fraction bit each for themselves, so that a quarter of the elements stay.
  const std::uint64_t fraction = elements.mask & (0 - elements.mask);
  return ((drawn & 1) != 0 ? fraction : 0) | ((drawn & 2) != 0 ? elements.mask ^ fraction : 0);
}

template <class Word>
constexpr Word changed(const Elements& elements, Word value, std::uint64_t change) {
  if (elements.below == 0) return static_cast<Word>(value ^ static_cast<Word>(change));
  return static_cast<Word>((static_cast<std::uint64_t>(value) + change) % elements.below);
}

template <class Word>
constexpr Word changed_back(const Elements& elements, Word value, std::uint64_t change) {
  if (elements.below == 0) return static_cast<Word>(value ^ static_cast<Word>(change));
  return static_cast<Word>((static_cast<std::uint64_t>(value) + elements.below - change) %
                           elements.below);
}

// The element with these contents, given the word it is in others.
template <class Word>
constexpr Word renewed(const Elements& elements, Word value, std::int64_t element,
                       const Contents& from, const Contents& to) {
  if (from.key != 0) value = changed_back(elements, value, change_at(elements, from, element));
  if (to.key != 0) value = changed(elements, value, change_at(elements, to, element));
  return value;
}

// A share of a fingerprint, of the eight bytes with this index. The sum over all of them tells two
// contents apart but for one chance in 2^32, unless who made them knows the key (NH of UMAC, Black
// et al. 1999).
constexpr std::uint64_t fingerprint_share(std::uint64_t key, std::uint64_t word,
                                          std::int64_t index) {
  const std::uint64_t at = mixed(key ^ static_cast<std::uint64_t>(index));
  return ((word & 0xffffffffu) + (at & 0xffffffffu)) * ((word >> 32) + (at >> 32));
}

}  // namespace assay::measure
