#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::worker {

// Instructions and constant tables: those that take times and judge results, which are this
// library's and the system's clock, or those of another library. They never change while a process
// lives, unless somebody writes to them.
class OwnCode {
 public:
  // What they are now.
  OwnCode();
  // Of the library that `within` lies in. name: for people.
  OwnCode(std::string name, const void* within);
  // Which of them differs from when this was made, for people: "assay's own code"; "" for none.
  // Takes about a millisecond.
  std::string changed() const;

 private:
  struct Part {
    std::string name;
    const std::byte* begin;
    std::size_t bytes;
    std::uint64_t hash;
  };
  void add(std::string name, const void* begin, std::size_t bytes);

  std::vector<Part> parts_;
};

}  // namespace assay::worker
