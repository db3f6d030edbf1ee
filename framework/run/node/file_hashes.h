#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace assay::run {

// SHA-256 of files; read again once they have changed.
class FileHashes {
 public:
  // "" where it cannot be read.
  const std::string& of(const std::string& file);

 private:
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const std::string& file);

  struct Known {
    Stamp stamp;
    std::string sha256;
  };
  std::map<std::string, Known> known_;
};

}  // namespace assay::run
