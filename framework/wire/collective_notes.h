#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::wire {

// A collective that a rank has begun.
struct CollectiveNote {
  std::uint64_t number = 0;         // of the rank's collectives, from 1
  std::uint64_t call = 0;           // a hash of `words`
  std::uint64_t history = 0;        // a hash of all up to this one, in order
  std::array<char, 40> words = {};  // "all_reduce of 4096 bytes of float", zero-terminated

  std::string text() const;  // fit to be shown, whatever the rank wrote
};

// The last collectives of a rank, in memory that its host reads while the rank may write.
struct CollectiveNotes {
  static constexpr std::size_t kept = 32;

  std::atomic<std::uint64_t> count = 0;
  std::atomic<std::uint64_t> history = 0;
  std::array<CollectiveNote, kept> notes = {};

  // By the rank; one thread at a time.
  void add(std::string_view words);
  void clear();
  // By the host: those that are still there, by number, however the rank has left the memory.
  std::vector<CollectiveNote> last() const;
};

}  // namespace assay::wire
