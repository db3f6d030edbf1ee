#pragma once

#include <cstdint>
#include <string_view>

// FNV-1a, of 64 bits: not for secrets.
namespace assay {

inline constexpr std::uint64_t fnv_prime = 1099511628211u;
inline constexpr std::uint64_t fnv_basis = 14695981039346656037u;

// `hash` of what came before, and a byte or a word more.
constexpr std::uint64_t fnv_with(std::uint64_t hash, std::uint64_t next) {
  return (hash ^ next) * fnv_prime;
}

constexpr std::uint64_t fnv_of_bytes(std::string_view bytes, std::uint64_t hash = fnv_basis) {
  for (const char byte : bytes) hash = fnv_with(hash, static_cast<unsigned char>(byte));
  return hash;
}

}  // namespace assay
