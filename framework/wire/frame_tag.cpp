#include "wire/frame_tag.h"

#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace assay::wire {

namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash(const std::array<std::uint64_t, 2>& key, std::string_view bytes) {
  SipState state = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                    key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    state.take(word);
  }
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  for (int shift = 0; at < bytes.size(); ++at, shift += 8) {
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at])) << shift;
  }
  state.take(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

FrameTags::FrameTags(std::string_view secret) {
  const std::string hash = sha256_hex(secret);
  key_ = {std::strtoull(hash.substr(0, 16).c_str(), nullptr, 16),
          std::strtoull(hash.substr(16, 16).c_str(), nullptr, 16)};
}

std::uint64_t FrameTags::next(std::string_view body) {
  return siphash({key_[0] ^ frames_++, key_[1]}, body);
}

}  // namespace assay::wire
