#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::run {

// Whose turn it is, of several who measure in turns. A round is a random order of all of them and
// then the same backwards (B A C C A B), so that in every round each has two turns, whose mean
// place and, where turns of one last equally long, mean time is the same for all: what drifts
// evenly adds the same to each. No clock, no input or output; the same seed gives the same turns.
class InterleaveOrder {
 public:
  InterleaveOrder(std::size_t members, std::uint64_t seed);

  // The member whose turn it is now; nothing once all have left.
  std::optional<std::size_t> next();
  // The member takes no more turns.
  void drop(std::size_t member) { present_[member] = false; }

  std::size_t rounds() const { return rounds_; }  // begun
  // Everyone whose turn it has been, in order.
  const std::vector<std::size_t>& taken() const { return taken_; }

 private:
  void begin_round();
  std::size_t below(std::size_t bound);

  std::vector<bool> present_;
  std::uint64_t state_;
  std::vector<std::size_t> order_;  // of this round, those to come at the end
  std::size_t rounds_ = 0;
  std::vector<std::size_t> taken_;
};

// Samples a turn, where a pass takes `samples` of them: an eighth, so that there are at least four
// rounds, within 1 and 5.
std::int64_t samples_per_turn(std::int64_t samples);

// "ABBA": the member's letter for each turn; members beyond 52 make a list of numbers, "0 53 53 0".
std::string in_letters(const std::vector<std::size_t>& turns);
std::string letter_of(std::size_t member);

// The seed of one pass of a group, from `measure.seed` and the keys of its cases.
std::uint64_t interleave_seed(std::int64_t seed, const std::vector<std::string>& keys,
                              const std::string& pass);

}  // namespace assay::run
