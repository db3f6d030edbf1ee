// Plugins that misbehave on a GPU: each costs its own case and nothing else.

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
        PluginFault{"device_assert", "a kernel's assertion fails", "crashed|error", "assert"},
        PluginFault{"illegal_address", "a kernel writes through a null pointer", "error",
                    "illegal (memory )?address|illegal memory"},
        PluginFault{"out_of_bounds", "a kernel writes 32 TiB beyond its buffer", "error",
                    "illegal (memory )?address|illegal memory"},
        PluginFault{"write_behind", "a kernel writes 64 KiB over what lies behind its input",
                    "wrong", ".", "at_call: 9"},
        PluginFault{"misaligned", "a kernel reads at an odd address", "error", "misaligned"},
        PluginFault{"spin", "a kernel never ends; its case may take 8 s", "timeout", "within 8",
                    "measure.timeout: 8 s"},
        PluginFault{"shared_memory", "asks for 300 KiB of shared memory a block", "oom|error",
                    "shared memory.*limit"},
        PluginFault{"shared_memory_unasked",
                    "launches with 100 KiB of shared memory without asking for the attribute",
                    "error", "shared memory|invalid"},
        PluginFault{"registers", "launches 1024 threads of a kernel made for 128", "oom|error",
                    "registers|resources"},
        PluginFault{"memory", "allocates memory of the GPU without end", "oom",
                    "asked|[Tt]ried.*free"},
        PluginFault{"leak", "keeps 16 MiB of the GPU's memory of each call", "ok", "^$", "", "leak",
                    "of tensors on the GPU were not given back by attention hostile_gpu"},
        PluginFault{"unwritten", "returns a buffer of the GPU nobody has written", "wrong", "."},
        PluginFault{"on_the_host", "returns its result on the CPU", "wrong|error", "cpu|device"}),
    [](const auto& tested) { return tested.param.name; });

class GpuRank : public ::testing::TestWithParam<RankFault> {};

TEST_P(GpuRank, EndsTheCaseForAllOfThem) {
  if (gpus() < 2) GTEST_SKIP() << "NCCL's ranks need a GPU each: this machine has " << gpus();
  expect_ends_the_case_for_all("cuda", "Ranks over NCCL", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Faults, GpuRank, ::testing::ValuesIn(rank_faults()),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace
}  // namespace assay::faults
