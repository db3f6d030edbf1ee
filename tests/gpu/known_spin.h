#pragma once

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "gpu/kernels.h"
#include "gpu/timed.h"

namespace assay::test {

// Spins of a known number of cycles at a known clock rate. A spin ends at a step of its loop, some
// 40 cycles or 0.4 % of 5 µs. Each asks for another number of cycles, so that on average they end
// half a step late.
class KnownSpin {
 public:
  KnownSpin() : record_(at::empty({2}, at::TensorOptions().device(cuda).dtype(at::kLong))) {
    const auto awake = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < awake) record(10'000'000);
    const auto [cycles, ns] = record(100'000'000);
    cycles_per_s_ = static_cast<double>(cycles) / (static_cast<double>(ns) * 1e-9);
    for (int i = 0; i < lengths; ++i) {
      const std::int64_t asked = 10'000 + more(i);
      beyond_ += static_cast<double>(record(asked).first - asked) / lengths;
    }
  }

  // Launches last this long on average over any 16 or more, each within 0.02 µs.
  std::function<void()> kernel(double seconds) const { return differing(seconds, 1); }
  // Launches vary evenly by up to 0.27 µs, like work of varying length.
  std::function<void()> varying_kernel(double seconds) const { return differing(seconds, 17); }

 private:
  static constexpr int lengths = 64;
  // Takes all of 0 to 63 in 64 launches, evenly in any few consecutive ones.
  static std::int64_t more(int launch) { return launch * 27 % lengths; }

  std::function<void()> differing(double seconds, std::int64_t cycles_apart) const {
    const double beyond = beyond_ + static_cast<double>(cycles_apart * (lengths - 1)) / 2;
    const auto cycles = std::llround(seconds * cycles_per_s_ - beyond);
    return [cycles, cycles_apart, launched = 0]() mutable {
      test::launch_spin(current_stream(), cycles + cycles_apart * more(launched++));
    };
  }

  std::pair<std::int64_t, std::int64_t> record(std::int64_t cycles) {
    test::launch_recorded_spin(current_stream(), cycles,
                               reinterpret_cast<long long*>(record_.mutable_data_ptr<int64_t>()));
    const auto values = record_.cpu();
    return {values[0].item<std::int64_t>(), values[1].item<std::int64_t>()};
  }

  at::Tensor record_;
  double cycles_per_s_ = 0;
  double beyond_ = 0;  // cycles they spin longer than asked, on average
};

class WithKnownSpin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (at::getNumGPUs() > 0) spin_ = new KnownSpin;
  }
  static void TearDownTestSuite() {
    delete spin_;
    spin_ = nullptr;
  }
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }

  inline static const KnownSpin* spin_ = nullptr;
};

inline int samples_for(double seconds) { return seconds < 1e-3 ? 200 : seconds < 1e-2 ? 50 : 15; }

inline void expect_within(double measured_s, double known_s, double share,
                          const std::string& what) {
  std::printf("%-28s known %10.3f us, measured %10.3f us, off by %+.3f %%\n", what.c_str(),
              known_s * 1e6, measured_s * 1e6, 100 * (measured_s / known_s - 1));
  EXPECT_NEAR(measured_s, known_s, share * known_s) << what;
}

}  // namespace assay::test
