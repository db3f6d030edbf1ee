#include "run/node/rank_process.h"

#include "base/text.h"

namespace assay::run {

Result<std::int64_t> RankProcess::take_file(const std::string&, const std::filesystem::path&,
                                            std::int64_t) {
  return 0;
}

std::string ranks_in_words(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> numbers;
  for (const std::size_t rank : ranks) numbers.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(numbers, ", ");
}

}  // namespace assay::run
