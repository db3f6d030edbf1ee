#include "wire/collective_notes.h"

#include <algorithm>
#include <cstring>

#include "base/fnv.h"
#include "base/printable.h"

namespace assay::wire {

std::string CollectiveNote::text() const {
  return printable_line({words.data(), ::strnlen(words.data(), words.size())});
}

void CollectiveNotes::add(std::string_view words) {
  const std::uint64_t number = count + 1;
  CollectiveNote note;
  note.number = number;
  note.call = fnv_of_bytes(words);
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
  const std::uint64_t there = std::min<std::uint64_t>(newest, kept);
  for (std::uint64_t back = there; back-- > 0;) {
    const std::uint64_t number = newest - back;
    const CollectiveNote& note = notes[number % kept];
    if (note.number == number) found.push_back(note);
  }
  return found;
}

}  // namespace assay::wire
