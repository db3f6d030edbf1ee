// Plugins that misbehave on a GPU: each costs only its own case.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin_faults.h"
#include "rank_faults.h"

namespace assay::faults {
namespace {

int gpus() {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const std::string name = entry.path().filename();
    count += name.size() > 6 && name.starts_with("nvidia") &&
             name.find_first_not_of("0123456789", 6) == std::string::npos;
  }
  return count;
}

class GpuPlugin : public ::testing::TestWithParam<PluginFault> {};

TEST_P(GpuPlugin, CostsItsCaseAlone) {
  if (gpus() == 0) GTEST_SKIP() << "no GPU on this machine";
  expect_costs_its_case_alone({"hostile_gpu", "hostile_gpu", "cuda", "Plugins on a GPU"},
                              GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Faults, GpuPlugin,
    ::testing::Values(
        PluginFault{"device_assert", "a kernel's assertion fails", "error",
                    "^CUDA error: device-side assert triggered: .*gpu\\.cu:[0-9]+: .*Assertion "
                    "`threadIdx\\.x == 12345 && \"on purpose\"` failed"},
        PluginFault{"illegal_address", "a kernel writes through a null pointer", "error",
                    "^CUDA error: an illegal memory access was encountered$"},
        PluginFault{"out_of_bounds", "a kernel writes 32 TiB beyond its buffer", "error",
                    "^CUDA error: an illegal memory access was encountered$"},
        // The allocator decides what lies there.
        PluginFault{"write_behind", "a kernel writes 64 KiB over what lies behind its input",
                    "wrong",
                    "^(after timing: out (changed from call to call by [0-9.e+-]+, more than "
                    "[0-9.e-]+|holds (NaN|infinity))|in a timed call: a call changed its input "
                    "[kv])$",
                    "at_call: 9", "", "", false, true},
        PluginFault{"misaligned", "a kernel reads at an odd address", "error",
                    "^CUDA error: misaligned address$"},
        PluginFault{"spin", "a kernel never ends; its case may take 8 s", "timeout",
                    "^the case did not finish within 8\\.0 s", "measure.timeout: 8 s"},
        PluginFault{"shared_memory", "asks for 300 KiB of shared memory a block", "oom",
                    "^out of shared memory: a kernel needs 300\\.00 KiB a block, the limit of this "
                    "device is [0-9.]+ KiB"},
        PluginFault{"shared_memory_unasked",
                    "launches with 100 KiB of shared memory without asking for the attribute",
                    "error",
                    "^a kernel was launched with 100\\.00 KiB of shared memory a block, its limit "
                    "is 48\\.00 KiB: .* it must ask with cudaFuncSetAttribute"},
        PluginFault{"registers", "launches 1024 threads of a kernel made for 128", "oom",
                    "^out of registers: a kernel needs [0-9]+ a block \\([0-9]+ a thread, 1024 "
                    "threads\\), the limit of this device is [0-9]+"},
        PluginFault{
            "memory", "allocates memory of the GPU without end", "oom",
            "^CUDA out of memory: 4\\.00 GiB asked for, [0-9.]+ [GM]iB of [0-9.]+ GiB free, "
            "[0-9.]+ GiB held by this process$"},
        PluginFault{"leak", "keeps 16 MiB of the GPU's memory of each call", "ok", "^$", "", "leak",
                    "of tensors on the GPU were not given back by attention hostile_gpu, precision "
                    "fp32, compile eager, workload attention$"},
        PluginFault{
            "unwritten", "returns a buffer of the GPU nobody has written", "wrong",
            "^out, which holds NaN, differs from the reference by inf, more than 0\\.0001$"},
        PluginFault{"on_the_host", "returns its result on the CPU", "wrong",
                    "^the attention's output is on the device cpu, not cuda:0$"}),
    [](const auto& tested) { return tested.param.name; });

class GpuRank : public ::testing::TestWithParam<RankFault> {
 protected:
  void SetUp() override {
    if (gpus() < GetParam().ranks) {
      GTEST_SKIP() << "NCCL's " << GetParam().ranks << " ranks need a GPU each: this machine has "
                   << gpus();
    }
  }
};

TEST_P(GpuRank, EndsTheCaseForAllOfThem) {
  expect_ends_the_case_for_all("cuda", "Ranks over NCCL", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, GpuRank, ::testing::ValuesIn(rank_faults(12)),
                         [](const auto& tested) { return tested.param.name(); });

class GpuRankInAStep : public GpuRank {};

TEST_P(GpuRankInAStep, EndsTheCaseForAllOfThem) {
  expect_ends_the_step_for_all("cuda", "Ranks over NCCL", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, GpuRankInAStep, ::testing::ValuesIn(faults_of_a_step()),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace
}  // namespace assay::faults
