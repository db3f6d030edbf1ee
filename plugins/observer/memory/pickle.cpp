#include "pickle.h"

#include <limits>
#include <utility>

namespace assay::memory {

namespace {

// https://github.com/python/cpython/blob/3.12/Lib/pickle.py
constexpr int proto = 0x80, stop = '.', mark = '(', empty_list = ']', appends = 'e',
              empty_dict = '}', setitems = 'u', tuple2 = 0x86, binunicode = 'X', binint = 'J',
              binint1 = 'K', long1 = 0x8a, newtrue = 0x88, newfalse = 0x89, binput = 'q',
              long_binput = 'r', binget = 'h', long_binget = 'j';

}  // namespace

Pickle::Pickle() {
  byte(proto);
  byte(2);
}

void Pickle::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) byte(static_cast<int>((value >> (8 * i)) & 0xff));
}

void Pickle::begin_list() {
  byte(empty_list);
  byte(mark);
}

void Pickle::end_list() { byte(appends); }

void Pickle::begin_dict() {
  byte(empty_dict);
  byte(mark);
}

void Pickle::end_dict() { byte(setitems); }

void Pickle::end_tuple() { byte(tuple2); }

void Pickle::text(std::string_view value) {
  const auto known = texts_.find(std::string(value));
  if (known != texts_.end()) return again(known->second);
  byte(binunicode);
  little_endian(value.size(), 4);
  bytes_ += value;
  texts_.emplace(value, remember());
}

void Pickle::integer(std::int64_t value) {
  if (value >= 0 && value <= 0xff) {
    byte(binint1);
    return little_endian(static_cast<std::uint64_t>(value), 1);
  }
  using Int32 = std::numeric_limits<std::int32_t>;
  if (value >= Int32::min() && value <= Int32::max()) {
    byte(binint);
    return little_endian(static_cast<std::uint64_t>(value), 4);
  }
  byte(long1);
  byte(8);
  little_endian(static_cast<std::uint64_t>(value), 8);
}

void Pickle::boolean(bool value) { byte(value ? newtrue : newfalse); }

std::uint32_t Pickle::remember() {
  const bool is_short = remembered_ <= 0xff;
  byte(is_short ? binput : long_binput);
  little_endian(remembered_, is_short ? 1 : 4);
  return remembered_++;
}

void Pickle::again(std::uint32_t number) {
  const bool is_short = number <= 0xff;
  byte(is_short ? binget : long_binget);
  little_endian(number, is_short ? 1 : 4);
}

std::string Pickle::finish() {
  byte(stop);
  return std::move(bytes_);
}

}  // namespace assay::memory
