#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::wire {

// Proves that a frame was sent by who has the key, and that none was left out, repeated or put in
// between: SipHash-2-4 (Aumasson and Bernstein 2012) of the body, under a key that the frame's
// number changes.
class FrameTags {
 public:
  // secret: a token of any length.
  explicit FrameTags(std::string_view secret);
  // The next frame's.
  std::uint64_t next(std::string_view body);

 private:
  std::array<std::uint64_t, 2> key_;
  std::uint64_t frames_ = 0;
};

// Of the bytes under a key of 16 bytes, given as two little-endian words.
std::uint64_t siphash(const std::array<std::uint64_t, 2>& key, std::string_view bytes);

}  // namespace assay::wire
