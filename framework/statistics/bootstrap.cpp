#include "statistics/bootstrap.h"

#include <algorithm>
#include <random>
#include <vector>

#include "statistics/quantiles.h"
#include "statistics/summary.h"

namespace assay::statistics {
Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples,
                        double level) {
  if (samples.empty() || resamples < 1 || has_nan(samples)) return {not_a_number, not_a_number};
  // The generator is the same in every standard library, std::uniform_int_distribution is not.
  std::mt19937_64 generator(seed);
  std::vector<double> drawn(samples.size());
  std::vector<double> means(static_cast<std::size_t>(resamples));
  for (double& of_drawn : means) {
    for (double& sample : drawn) {
      const std::uint64_t bits = generator() >> 32;
      sample = samples[static_cast<std::size_t>((bits * samples.size()) >> 32)];
    }
    of_drawn = mean(drawn);
  }
  std::sort(means.begin(), means.end());
  const double tail = 50.0 * (1.0 - level);
  return {percentile(means, tail), percentile(means, 100.0 - tail)};
}

}  // namespace assay::statistics
