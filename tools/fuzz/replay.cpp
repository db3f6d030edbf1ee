// Replaces libFuzzer for compilers without it: calls the target with every file of a corpus, then
// with COUNT inputs made from them, always the same ones.
//
//     fuzz_import CORPUS [COUNT]
//
// Keeps an input that stops the process as TARGET.input in the working folder.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "target.h"

namespace {

namespace fs = std::filesystem;

constexpr unsigned seconds_an_input = 20;
constexpr std::size_t longest_input = 1 << 16;
constexpr long most_memory_kib = 512 * 1024;

std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  std::string next() {
    std::string input = any_input();
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(input);
    input.resize(std::min(input.size(), longest_input));
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const std::string& any_input() { return corpus_[below(corpus_.size())]; }

  // A piece of an input, usually a few bytes long.
  std::string piece() {
    const std::string& from = any_input();
    const std::size_t start = below(from.size());
    return from.substr(start, below(below(4) == 0 ? from.size() : 16) + 1);
  }

  void change(std::string& input) {
    using namespace std::literals;
    constexpr std::string_view telling = "\0\xff\xc0\x80\n\r\t \"'\\{}[]:,-?&*!|>#%@`0129.e+"sv;
    const std::size_t at = below(input.size());
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        return;
      case 1:
        if (!input.empty()) input[at] = telling[below(telling.size())];
        return;
      case 2:
        input.insert(at, 1, telling[below(telling.size())]);
        return;
      case 3:
        input.erase(at, below(32) + 1);
        return;
      case 4:
        input.insert(at, piece());
        return;
      case 5:
        input.replace(at, below(32), piece());
        return;
      default:
        // Repetition makes depth, long lists and repeated lines.
        const std::string repeated = input.substr(at, below(48) + 1);
        for (std::size_t times = below(64); times > 0; --times) input.insert(at, repeated);
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937 random_{1};  // the same sequence with every standard library
};

void try_input(const std::string& input, const fs::path& kept) {
  std::ofstream(kept, std::ios::binary | std::ios::trunc) << input;
  ::alarm(seconds_an_input);  // ends the process
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ::alarm(0);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [COUNT]\n", words[0]);
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(words[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no inputs\n", words[1]);
    return 2;
  }
  const long made = count > 2 ? std::atol(words[2]) : 0;
  const fs::path kept = fs::path(words[0]).filename().string() + ".input";
  for (const std::string& input : corpus) try_input(input, kept);
  Mutator mutator(corpus);
  for (long i = 0; i < made; ++i) try_input(mutator.next(), kept);

  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  if (used.ru_maxrss > most_memory_kib) {
    std::fprintf(stderr, "the inputs took %ld MiB at once\n", used.ru_maxrss / 1024);
    return 1;
  }
  fs::remove(kept);
  std::printf("%zu files of the corpus and %ld inputs made from them\n", corpus.size(), made);
  return 0;
}
