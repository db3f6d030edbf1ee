#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace assay::test {

// A distribution of call times around 1 with a known median.
struct Noise {
  std::string name;
  double median = 1;
  // The draws of one experiment, reproducible by seed.
  std::function<std::function<double()>(std::uint64_t seed)> start;
  bool correlated = false;
};

// Normal, log-normal, heavy-tailed (infinite variance), with outliers, bimodal, correlated.
std::vector<Noise> noises();

std::string noise_name(const testing::TestParamInfo<Noise>& tested);
std::ostream& operator<<(std::ostream& out, const Noise& noise);

double median_of(std::vector<double> values);

}  // namespace assay::test
