#include "run/workers/collective_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace assay::run {

namespace {

using Notes = std::vector<wire::CollectiveNote>;
using wire::CollectiveNote;

const CollectiveNote* note_at(const Notes& notes, std::uint64_t number) {
  const auto found = std::ranges::find(notes, number, &CollectiveNote::number);
  return found == notes.end() ? nullptr : &*found;
}

// Those of all ranks with this number; empty where one is no longer there or not yet.
std::vector<const CollectiveNote*> all_at(const std::vector<Notes>& of_ranks,
                                          std::uint64_t number) {
  std::vector<const CollectiveNote*> all;
  for (const Notes& notes : of_ranks) {
    const CollectiveNote* note = note_at(notes, number);
    if (note == nullptr) return {};
    all.push_back(note);
  }
  return all;
}

// The first number at which the ranks differ though they agreed before.
std::vector<const CollectiveNote*> first_difference(const std::vector<Notes>& of_ranks) {
  for (const CollectiveNote& note : of_ranks.front()) {
    const auto all = all_at(of_ranks, note.number);
    const auto differs = [&](const CollectiveNote* other) { return other->call != note.call; };
    if (std::ranges::any_of(all, differs)) return all;
    const auto parted = [&](const CollectiveNote* other) { return other->history != note.history; };
    if (std::ranges::any_of(all, parted)) return {};  // where, can no longer be seen
  }
  return {};
}

// Whether a rank has called this collective before, after the same one as now.
bool has_done_so(const Notes& notes, const CollectiveNote& note) {
  const CollectiveNote* before = note_at(notes, note.number - 1);
  for (const CollectiveNote& earlier : notes) {
    if (earlier.number >= note.number || earlier.call != note.call) continue;
    const CollectiveNote* ahead = note_at(notes, earlier.number - 1);
    if (before != nullptr && ahead != nullptr && before->call == ahead->call) return true;
  }
  return false;
}

std::optional<std::size_t> rank_apart(const std::vector<Notes>& of_ranks,
                                      const std::vector<const CollectiveNote*>& calls) {
  std::map<std::uint64_t, std::vector<std::size_t>> ranks_by_call;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    ranks_by_call[calls[rank]->call].push_back(rank);
  }
  for (const auto& [call, ranks] : ranks_by_call) {
    if (2 * ranks.size() <= calls.size()) continue;  // no majority
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      if (calls[rank]->call != call) return rank;
    }
  }
  std::optional<std::size_t> apart;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (has_done_so(of_ranks[rank], *calls[rank])) continue;
    if (apart) return std::nullopt;
    apart = rank;
  }
  return calls.size() == 2 ? apart : std::nullopt;
}

}  // namespace

std::optional<CollectiveDifference> collective_difference(const std::vector<Notes>& of_ranks) {
  if (of_ranks.size() < 2) return std::nullopt;
  const auto calls = first_difference(of_ranks);
  if (calls.empty()) return std::nullopt;
  const std::uint64_t number = calls.front()->number;
  const auto rank = rank_apart(of_ranks, calls);
  if (!rank) {
    const auto other = std::ranges::find_if(
        calls, [&](const CollectiveNote* call) { return call->call != calls.front()->call; });
    return CollectiveDifference{
        {},
        fmt::format("the ranks differ in their collective {}: rank 0 called {}, rank {} {}", number,
                    calls.front()->text(), other - calls.begin(), (*other)->text())};
  }
  const std::size_t usual = *rank == 0 ? 1 : 0;
  return CollectiveDifference{
      rank,
      fmt::format("rank {} called {} as its collective {}, {} {}", *rank, calls[*rank]->text(),
                  number, calls.size() == 2 ? fmt::format("rank {}", usual) : "the others",
                  calls[usual]->text())};
}

}  // namespace assay::run
