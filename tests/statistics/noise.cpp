#include "statistics/noise.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::test {
namespace {

using Generator = std::mt19937_64;

double uniform(Generator& generator) {
  return std::uniform_real_distribution<double>(0, 1)(generator);
}
double normal(Generator& generator) { return std::normal_distribution<double>()(generator); }

Noise independent(std::string name, double median, std::function<double(Generator&)> draw) {
  return {std::move(name), median, [draw](std::uint64_t seed) -> std::function<double()> {
            return [draw, generator = Generator(seed)]() mutable { return draw(generator); };
          }};
}

// The quantile p of the standard normal distribution, to 1e-12.
double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

// Autoregressive: each deviation keeps `share` of the last; `deviation` is that of the innovations.
Noise autoregressive(std::string name, double share, double deviation) {
  return {std::move(name), 1,
          [=](std::uint64_t seed) -> std::function<double()> {
            Generator generator(seed);
            double state = normal(generator) / std::sqrt(1 - share * share);
            return [=]() mutable {
              state = share * state + normal(generator);
              return 1 + deviation * state;
            };
          },
          true};
}

}  // namespace

std::vector<Noise> noises() {
  return {
      independent("normal", 1, [](Generator& g) { return 1 + 0.03 * normal(g); }),
      independent("log_normal", 1, [](Generator& g) { return std::exp(0.05 * normal(g)); }),
      // Pareto with exponent 1.5.
      independent("heavy_tailed", 1 + 0.05 * (std::pow(0.5, -1 / 1.5) - 1),
                  [](Generator& g) { return 1 + 0.05 * (std::pow(1 - uniform(g), -1 / 1.5) - 1); }),
      // One call in 20 takes ten times as long: half of all lie below a share of 0.5/0.95 of the
      // others.
      independent("outliers", 1 + 0.02 * normal_quantile(0.5 / 0.95),
                  [](Generator& g) {
                    const double usual = 1 + 0.02 * normal(g);
                    return uniform(g) < 0.05 ? 10 * usual : usual;
                  }),
      // 7 in 10 near 1, the others near 1.2: the median is where 5/7 of the first lie below.
      independent("bimodal", 1 + 0.01 * normal_quantile(5.0 / 7.0),
                  [](Generator& g) { return (uniform(g) < 0.7 ? 1.0 : 1.2) + 0.01 * normal(g); }),
      autoregressive("correlated", 0.5, 0.02),
  };
}

std::string noise_name(const testing::TestParamInfo<Noise>& tested) { return tested.param.name; }

std::ostream& operator<<(std::ostream& out, const Noise& noise) { return out << noise.name; }

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace assay::test
