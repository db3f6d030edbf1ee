#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace assay::test {

// A distribution of call times around 1, of which the median is known.
struct Noise {
  std::string name;
  double median = 1;
  // The draws of one experiment; the same seed gives the same ones.
  std::function<std::function<double()>(std::uint64_t seed)> start;
  bool correlated = false;
};

// normal, log-normal, heavy-tailed (infinite variance), with outliers, bimodal, correlated.
std::vector<Noise> noises();

std::string noise_name(const testing::TestParamInfo<Noise>& tested);
std::ostream& operator<<(std::ostream& out, const Noise& noise);

double median_of(std::vector<double> values);

}  // namespace assay::test
