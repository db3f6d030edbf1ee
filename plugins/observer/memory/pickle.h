#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace assay::memory {

// Writes one value in Python's pickle format, protocol 2, with those opcodes alone that PyTorch's
// memory viewer reads too. Texts are written once and then referred to.
class Pickle {
 public:
  Pickle();

  // Containers: begin, their values, end; of a dictionary each key before its value. A tuple has
  // two.
  void begin_list();
  void end_list();
  void begin_dict();
  void end_dict();
  void end_tuple();  // of the last two values

  void text(std::string_view value);
  void integer(std::int64_t value);
  void boolean(bool value);

  // A value that comes again: returns its number, by which again() refers to it.
  std::uint32_t remember();
  void again(std::uint32_t number);

  std::size_t size() const { return bytes_.size(); }
  // Ends the whole. Nothing may follow.
  std::string finish();

 private:
  void byte(int value) { bytes_.push_back(static_cast<char>(value)); }
  void little_endian(std::uint64_t value, int bytes);

  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::uint32_t remembered_ = 0;
};

}  // namespace assay::memory
