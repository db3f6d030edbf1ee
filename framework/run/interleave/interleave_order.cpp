#include "run/interleave/interleave_order.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace assay::run {

namespace {

constexpr std::size_t letters = 52;

}  // namespace

InterleaveOrder::InterleaveOrder(std::size_t members, std::uint64_t seed)
    : present_(members, true), state_(seed) {}

// splitmix64 (Steele, Lea, Flood 2014): the standard's distributions differ between libraries.
// The bias of the remainder is below members / 2^64.
std::size_t InterleaveOrder::below(std::size_t bound) {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>((mixed ^ (mixed >> 31)) % bound);
}

void InterleaveOrder::begin_round() {
  for (std::size_t member = 0; member < present_.size(); ++member) {
    if (present_[member]) order_.push_back(member);
  }
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[below(i)]);
  const std::vector<std::size_t> backwards(order_.rbegin(), order_.rend());
  order_.insert(order_.end(), backwards.begin(), backwards.end());
  ++rounds_;
}

std::optional<std::size_t> InterleaveOrder::next() {
  while (std::find(present_.begin(), present_.end(), true) != present_.end()) {
    if (order_.empty()) begin_round();
    const std::size_t member = order_.back();  // a round reads the same from both ends
    order_.pop_back();
    if (!present_[member]) continue;
    taken_.push_back(member);
    return member;
  }
  return std::nullopt;
}

std::int64_t samples_per_turn(std::int64_t samples) {
  return std::clamp<std::int64_t>(samples / 8, 1, 5);
}

std::string letter_of(std::size_t member) {
  if (member >= letters) return std::to_string(member);
  return std::string(1, static_cast<char>(member < 26 ? 'A' + member : 'a' + (member - 26)));
}

std::string in_letters(const std::vector<std::size_t>& turns) {
  const bool fit =
      std::all_of(turns.begin(), turns.end(), [](std::size_t member) { return member < letters; });
  std::vector<std::string> words;
  for (const std::size_t member : turns) {
    words.push_back(fit ? letter_of(member) : std::to_string(member));
  }
  return join(words, fit ? "" : " ");
}

std::uint64_t interleave_seed(std::int64_t seed, const std::vector<std::string>& keys,
                              const std::string& pass) {
  const std::string digest =
      sha256_hex(std::to_string(seed) + "\n" + join(keys, "\n") + "\n" + pass);
  return std::stoull(digest.substr(0, 16), nullptr, 16);
}

}  // namespace assay::run
