#include <ATen/Context.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "health/gpu_source.h"
#include "health/judge.h"
#include "health/summary.h"
#include "measure/device.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void compute_for(double seconds) {
  const at::Tensor a =
      at::randn({4096, 4096}, at::TensorOptions().device(at::kCUDA, 0).dtype(at::kBFloat16));
  at::Tensor b = a;
  for (const auto start = Clock::now(); seconds_since(start) < seconds;) {
    for (int i = 0; i < 20; ++i) b = at::matmul(a, a);
    measure::synchronize(a.device());
  }
}

class GpuHealth : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    source_ = std::make_shared<health::GpuSource>(health::GpuSource::here());
    ASSERT_EQ(source_->problem(), "");
  }

  std::shared_ptr<health::GpuSource> source_;
};

TEST_F(GpuHealth, NvmlSeesTheGpusThatCudaSees) {
  EXPECT_EQ(source_->gpus().size(), static_cast<std::size_t>(at::getNumGPUs()));
}

TEST_F(GpuHealth, ReadingsOfABusyGpuArePlausible) {
  compute_for(0.2);  // the context and what cuBLAS loads
  health::Watch watch({source_});
  const auto ticket = watch.begin({0});
  compute_for(3);
  const health::Observation seen = watch.end(ticket);
  ASSERT_GE(seen.readings.size(), 3u);
  const nlohmann::json context = to_json(seen);
  std::cout << context.dump(2) << "\n";
  const nlohmann::json& gpu = context["gpus"][0];
  EXPECT_GT(gpu["sm_clock_hz"]["median"].get<double>(), 200e6);
  EXPECT_LT(gpu["sm_clock_hz"]["max"].get<double>(), 5e9);
  EXPECT_GT(gpu["memory_clock_hz"]["median"].get<double>(), 200e6);
  EXPECT_GT(gpu["temperature_c"]["min"].get<double>(), 5);
  EXPECT_LT(gpu["temperature_c"]["max"].get<double>(), 110);
  EXPECT_GT(gpu["utilisation"]["max"].get<double>(), 0.3);
  const double highest_w = gpu["power_w"]["max"];
  EXPECT_GT(highest_w, 100) << "a matrix product after another";
  if (gpu.contains("energy_j")) {
    const double mean_w = gpu["energy_j"].get<double>() / seen.seconds;
    EXPECT_GT(mean_w, 0.3 * highest_w);
    EXPECT_LT(mean_w, 1.5 * highest_w);
  }
  for (const store::Mark& mark : judge(seen, {{0}, 1, 2, 16})) {
    std::cout << mark.mark << ": " << mark.reason << "\n";
  }
}

TEST_F(GpuHealth, OurOwnProcessIsNoStranger) {
  compute_for(0.1);
  health::Reading reading;
  source_->read(health::Depth::thorough, {0}, reading);
  ASSERT_EQ(reading.gpus.size(), 1u);
  health::Observation seen;
  seen.readings = {reading};
  const auto processes = health::processes_on(seen, 0);
  std::cout << processes.size() << " processes on GPU 0\n";
  const bool alone = processes.size() <= 1;
  for (const store::Mark& mark : judge(seen, {{0}, 1, 2, 16})) {
    if (alone) {
      EXPECT_NE(mark.mark, "shared") << mark.reason;
    }
  }
}

// Printed only: the cost depends on the machine.
TEST_F(GpuHealth, WhatReadingsCost) {
  for (const auto& [name, depth] :
       {std::pair("glance", health::Depth::glance), std::pair("edge", health::Depth::edge),
        std::pair("thorough", health::Depth::thorough)}) {
    const auto start = Clock::now();
    constexpr int looks = 50;
    for (int i = 0; i < looks; ++i) {
      health::Reading reading;
      source_->read(depth, {0}, reading);
      ASSERT_EQ(reading.gpus.size(), 1u);
    }
    std::cout << name << ": " << seconds_since(start) / looks * 1e6 << " us\n";
  }
}

}  // namespace
}  // namespace assay
