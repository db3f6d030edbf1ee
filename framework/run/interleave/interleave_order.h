#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::run {

// Decides which member takes the next turn. A round is a random order of all members and the same
// order backwards (B A C C A B): the mean place of a member's two turns is the same for all, so an
// even drift adds the same to each. The same seed gives the same turns.
class InterleaveOrder {
 public:
  InterleaveOrder(std::size_t members, std::uint64_t seed);

  // Nothing once all members are dropped.
  std::optional<std::size_t> next();
  void drop(std::size_t member) { present_[member] = false; }

  std::size_t rounds() const { return rounds_; }  // begun
  const std::vector<std::size_t>& taken() const { return taken_; }

 private:
  void begin_round();
  std::size_t below(std::size_t bound);

  std::vector<bool> present_;
  std::uint64_t state_;
  std::vector<std::size_t> order_;  // turns of this round to come, the next one last
  std::size_t rounds_ = 0;
  std::vector<std::size_t> taken_;
};

// Samples a turn for a pass of `samples`: an eighth, which gives at least four rounds, within 1 and
// 5.
std::int64_t samples_per_turn(std::int64_t samples);

// "ABBA": a letter a turn; with more than 52 members a list of numbers, "0 53 53 0".
std::string in_letters(const std::vector<std::size_t>& turns);
std::string letter_of(std::size_t member);

std::uint64_t interleave_seed(std::int64_t seed, const std::vector<std::string>& keys,
                              const std::string& pass);

}  // namespace assay::run
