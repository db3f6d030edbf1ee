#include "measure/cache_size.h"

#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace assay::measure {

namespace {

std::string first_word(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// "512K", "32M" or plain bytes; 0 for anything else.
std::int64_t size_from_text(const std::string& text) {
  std::int64_t size = 0;
  std::size_t i = 0;
  for (; i < text.size() && i < 15 && text[i] >= '0' && text[i] <= '9'; ++i) {
    size = 10 * size + (text[i] - '0');
  }
  if (i == text.size()) return size;
  if (text[i] == 'K') return size << 10;
  if (text[i] == 'M') return size << 20;
  return text[i] == 'G' ? size << 30 : 0;
}

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;
  std::string shared_by;  // identifies it among caches of its level
};

Cache last_level_of(const std::filesystem::path& cpu) {
  Cache last;
  for (int i = 0;; ++i) {
    const auto folder = cpu / "cache" / ("index" + std::to_string(i));
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) return last;
    const std::string type = first_word(folder / "type");
    const std::string level = first_word(folder / "level");
    if (type == "Instruction" || level.size() != 1) continue;
    if (level[0] - '0' <= last.level) continue;
    last = {level[0] - '0', size_from_text(first_word(folder / "size")),
            first_word(folder / "shared_cpu_list")};
  }
}

}  // namespace

std::int64_t last_level_cache_bytes(const std::filesystem::path& folder,
                                    const std::vector<int>& cpus) {
  std::map<std::pair<int, std::string>, std::int64_t> caches;
  for (const int cpu : cpus) {
    const Cache cache = last_level_of(folder / ("cpu" + std::to_string(cpu)));
    caches[{cache.level, cache.shared_by}] = cache.bytes;
  }
  std::int64_t bytes = 0;
  for (const auto& [name, size] : caches) bytes += size;
  return bytes;
}

}  // namespace assay::measure
