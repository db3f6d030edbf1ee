#include "worker/process/own_code.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string_view>

namespace assay::worker {

namespace {

// Four chains keep a processor's multipliers busy: some 10 byte/ns.
std::uint64_t hash_of(const std::byte* begin, std::size_t bytes) {
  constexpr std::uint64_t prime = 0x9E3779B97F4A7C15u;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + sizeof lanes <= bytes; at += sizeof lanes) {
    std::uint64_t words[4];
    std::memcpy(words, begin + at, sizeof words);
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] = (lanes[lane] ^ words[lane]) * prime;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  }
  std::uint64_t hash = bytes;
  for (; at < bytes; ++at) hash = (hash ^ std::to_integer<std::uint64_t>(begin[at])) * prime;
  for (const std::uint64_t lane : lanes) hash = ((hash ^ lane) * prime) ^ (hash >> 31);
  return hash;
}

struct Constant {
  const void* begin;
  std::size_t bytes;
};

// The executable segments of the library that an address lies in, and the tables that the loader
// has made read-only, the addresses of functions among them.
std::vector<Constant> constants_around(const void* address) {
  struct Search {
    std::uintptr_t wanted;
    std::vector<Constant> found;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
    auto& asked = *static_cast<Search*>(data);
    bool holds = false;
    std::vector<Constant> constants;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      const bool loaded = segment.p_type == PT_LOAD;
      holds = holds || (loaded && asked.wanted - begin < segment.p_memsz);
      const bool constant =
          (loaded && (segment.p_flags & PF_X) != 0) || segment.p_type == PT_GNU_RELRO;
      if (constant) constants.push_back({reinterpret_cast<void*>(begin), segment.p_memsz});
    }
    if (!holds) return 0;
    asked.found = std::move(constants);
    return 1;
  };
  ::dl_iterate_phdr(look, &search);
  return std::move(search.found);
}

// The system's clock that needs no call of the system.
Constant clock_page() {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(::getauxval(AT_SYSINFO_EHDR));
  if (header == nullptr) return {nullptr, 0};
  std::size_t bytes = 0;
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(
      reinterpret_cast<const std::byte*>(header) + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) bytes = segments[i].p_offset + segments[i].p_memsz;
  }
  return {header, bytes};
}

// The first bytes of a function: a jump elsewhere is written there.
Constant beginning_of(const char* function) {
  constexpr std::size_t bytes = 32;
  return {::dlsym(RTLD_DEFAULT, function), bytes};
}

}  // namespace

OwnCode::OwnCode(std::string name, const void* within) {
  for (const Constant& part : constants_around(within)) add(name, part.begin, part.bytes);
}

OwnCode::OwnCode() : OwnCode("assay's own code", reinterpret_cast<const void*>(&hash_of)) {
  const Constant page = clock_page();
  if (page.begin != nullptr) add("the system's clock", page.begin, page.bytes);
  for (const char* function : {"clock_gettime", "_ZNSt6chrono3_V212steady_clock3nowEv",
                               "cudaEventElapsedTime", "cudaEventRecord", "cudaEventQuery",
                               "cudaEventSynchronize", "cudaStreamQuery", "cudaStreamSynchronize",
                               "cudaStreamWaitEvent", "cudaDeviceSynchronize", "cudaGraphLaunch"}) {
    const Constant part = beginning_of(function);
    if (part.begin != nullptr) add("the system's clock", part.begin, part.bytes);
  }
}

void OwnCode::add(std::string name, const void* begin, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  parts_.push_back({std::move(name), first, bytes, hash_of(first, bytes)});
}

std::string OwnCode::changed() const {
  for (const Part& part : parts_) {
    if (hash_of(part.begin, part.bytes) != part.hash) return part.name;
  }
  return {};
}

}  // namespace assay::worker
