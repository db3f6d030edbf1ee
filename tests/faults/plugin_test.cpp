// Plugins that misbehave: each costs its own case and nothing else.

#include <gtest/gtest.h>

#include "plugin_faults.h"

namespace assay::faults {
namespace {

std::string name_of(const ::testing::TestParamInfo<PluginFault>& tested) {
  return tested.param.name;
}

class Plugin : public ::testing::TestWithParam<PluginFault> {};

TEST_P(Plugin, CostsItsCaseAlone) {
  expect_costs_its_case_alone({"hostile_attention", "hostile", "cpu", "Plugins"}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Throws, Plugin,
    ::testing::Values(
        PluginFault{"throw_in_construction", "throws as it is made", "error", "cannot be made"},
        PluginFault{"throw", "throws in the call", "error", "thrown on purpose"},
        PluginFault{"throw_number", "throws something that is no exception", "error",
                    "not a std::exception"},
        PluginFault{"throw_in_destruction", "throws as it is destroyed, when its case is measured",
                    "crashed", "SIGABRT", "", "", true}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Dies, Plugin,
    ::testing::Values(
        PluginFault{"segfault", "writes through a null pointer", "crashed", "SIGSEGV"},
        PluginFault{"bus_error", "reads a mapped file beyond its end", "crashed", "SIGBUS"},
        PluginFault{"divide_by_zero", "divides an integer by zero", "crashed", "SIGFPE"},
        PluginFault{"trap", "runs into an illegal instruction", "crashed", "SIGILL"},
        PluginFault{"abort", "calls abort", "crashed", "SIGABRT"},
        PluginFault{"stack_overflow", "recurses without end", "crashed", "SIGSEGV.*stack"},
        PluginFault{"exit_0", "calls exit(0)", "crashed", "exit code 0"},
        PluginFault{"exit_3", "calls exit(3)", "crashed", "exit code 3"},
        PluginFault{"quick_exit", "calls _Exit(0)", "crashed", "exit code 0"},
        PluginFault{"kill_group", "kills its process group with signal 9", "crashed", "SIGKILL"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Lingers, Plugin,
    ::testing::Values(
        PluginFault{"spin", "loops without end; its case may take 4 s", "timeout", "within 4",
                    "measure.timeout: 4 s"},
        PluginFault{"sleep", "sleeps for hours; its case may take 4 s", "timeout", "within 4",
                    "measure.timeout: 4 s"},
        PluginFault{"fork", "forks eight children in each of three calls, which never end", "ok",
                    ""},
        PluginFault{"daemon", "leaves a daemon in a session of its own in each of three calls",
                    "ok", ""},
        PluginFault{
            "orphan_hang",
            "leaves a daemon, no longer dies with its host, and hangs; its case may take 4 s",
            "timeout", "within 4", "measure.timeout: 4 s"},
        PluginFault{"fork_both", "forks in three calls, and parent and child both go on", "ok", "",
                    "at_call: 6"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Speaks, Plugin,
    ::testing::Values(
        PluginFault{"close_all", "closes every file descriptor", "crashed", ".", "at_call: 4"},
        PluginFault{"print_garbage",
                    "prints 8 MiB of random bytes in each of three calls, without a newline", "ok",
                    ""},
        PluginFault{"channel_garbage", "writes random bytes to the connection with the host",
                    "crashed", "message", "at_call: 4"},
        PluginFault{"channel_length", "announces a message of 4 GiB to the host", "crashed",
                    "message of 4294967295 bytes", "at_call: 4"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Takes, Plugin,
    ::testing::Values(PluginFault{"allocate", "allocates host memory without end", "oom",
                                  "host memory"},
                      PluginFault{"leak_tensors", "keeps a tensor of 4 MiB of each call", "ok", "",
                                  "", "leak.*hostile"},
                      PluginFault{"leak_heap", "keeps 4 MiB of each call, from malloc", "ok", "",
                                  "", "leak.*hostile"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Lies, Plugin,
    ::testing::Values(
        PluginFault{"nan", "returns one NaN", "wrong", "nan|NaN|finite"},
        PluginFault{"inf", "returns one infinity", "wrong", "inf|finite"},
        PluginFault{"wrong_values", "returns values 1.5 times too large", "wrong",
                    "out differs from the reference by 0.5"},
        PluginFault{"wrong_shape", "returns a row less", "wrong|error", "shape|size"},
        PluginFault{"wrong_dtype", "returns float64 for float32", "wrong", "dtype|double|fp64"},
        PluginFault{"wrong_device", "returns a tensor on LibTorch's meta device", "wrong", "meta"},
        PluginFault{"unwritten", "returns a buffer nobody has written", "wrong", "."},
        PluginFault{"undefined", "returns no tensor", "wrong", "undefined|no tensor|not defined"}),
    name_of);

// The ninth call is among the samples: one is the first, one verifies, two warm up.
INSTANTIATE_TEST_SUITE_P(
    Later, Plugin,
    ::testing::Values(
        PluginFault{"wrong_values",
                    "is right at first, and returns wrong values from its ninth call on", "wrong",
                    "differs|chang", "at_call: 9"},
        PluginFault{"nan", "is right at first, and returns one NaN from its ninth call on", "wrong",
                    "nan|NaN|finite|chang", "at_call: 9"},
        PluginFault{"unwritten",
                    "is right at first, and returns unwritten buffers from its ninth call on",
                    "wrong", ".", "at_call: 9"}),
    name_of);

}  // namespace
}  // namespace assay::faults
