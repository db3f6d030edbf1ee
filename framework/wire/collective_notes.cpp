#include "wire/collective_notes.h"

#include <algorithm>
#include <cstring>

namespace assay::wire {

namespace {

constexpr std::uint64_t fnv_prime = 1099511628211u;  // FNV-1a

std::uint64_t hash_of_words(std::string_view words) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * fnv_prime;
  return hash;
}

}  // namespace

std::string CollectiveNote::text() const {
  return {words.data(), ::strnlen(words.data(), words.size())};
}

void CollectiveNotes::add(std::string_view words) {
  const std::uint64_t number = count + 1;
  CollectiveNote note;
  note.number = number;
  note.call = hash_of_words(words);
  note.history = ((history ^ note.call) * fnv_prime) ^ (history >> 29);
  words.copy(note.words.data(), note.words.size() - 1);
  notes[number % kept] = note;
  history = note.history;
  count = number;
}

void CollectiveNotes::clear() {
  count = 0;
  history = 0;
}

std::vector<CollectiveNote> CollectiveNotes::last() const {
  const std::uint64_t newest = count;
  std::vector<CollectiveNote> found;
  const std::uint64_t oldest = newest < kept ? 1 : newest - kept + 1;
  for (std::uint64_t number = oldest; number <= newest; ++number) {
    const CollectiveNote& note = notes[number % kept];
    if (note.number == number) found.push_back(note);
  }
  return found;
}

}  // namespace assay::wire
