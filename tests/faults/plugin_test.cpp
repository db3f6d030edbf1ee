// Plugins that misbehave: each costs only its own case.

#include <gtest/gtest.h>

#include "plugin_faults.h"

namespace assay::faults {
namespace {

std::string plugin_fault_name(const ::testing::TestParamInfo<PluginFault>& tested) {
  return tested.param.name;
}

std::string ended_with(const std::string& signal) {
  return "^the worker ended with signal " + signal + "$";
}

// Hundreds: on a busy machine more calls are made.
std::string kept_by_it(const std::string& fraction, const std::string& what) {
  return "^[1-9][0-9]{2,3}\\." + fraction + " MiB of " + what +
         " were not given back by attention hostile, precision fp32, compile eager, workload "
         "attention$";
}

const std::string too_late = "^the case did not finish within 4\\.0 s";
const std::string still_ran =
    "^processes that attention hostile, precision fp32, compile eager, workload attention had "
    "started still ran; "
    "they were ended with their worker$";

class Plugin : public ::testing::TestWithParam<PluginFault> {};

TEST_P(Plugin, CostsItsCaseAlone) {
  expect_costs_its_case_alone({"hostile_attention", "hostile", "cpu", "Plugins"}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Throws, Plugin,
    ::testing::Values(
        PluginFault{"throw_in_construction", "throws as it is made", "error", "^cannot be made$"},
        PluginFault{"throw", "throws in the call", "error", "^thrown on purpose$"},
        PluginFault{"throw_number", "throws something that is no exception", "error",
                    "^something that is not a std::exception was thrown$"},
        PluginFault{"ecc_error", "throws what LibTorch throws where the GPU reports an ECC error",
                    "error", "^CUDA error: uncorrectable ECC error encountered$"},
        PluginFault{
            "throw_in_destruction", "throws as it is destroyed, when its case is measured",
            "crashed",
            "^the worker ended with signal 6 \\(SIGABRT: Aborted\\): .*cannot be destroyed$", "",
            "", "", true}),
    plugin_fault_name);

INSTANTIATE_TEST_SUITE_P(
    Dies, Plugin,
    ::testing::Values(
        PluginFault{
            "segfault", "writes through a null pointer", "crashed",
            ended_with("11 \\(SIGSEGV: Segmentation fault\\), there is no memory at address 0x8")},
        PluginFault{"wild_pointer", "writes through a pointer of 0x4141414141414141", "crashed",
                    ended_with("11 \\(SIGSEGV: Segmentation fault\\), the address was none that "
                               "memory can have")},
        PluginFault{"read_only", "writes to memory that is for reading", "crashed",
                    ended_with("11 \\(SIGSEGV: Segmentation fault\\), the memory at address "
                               "0x200000000000 may not be used so; it may be for reading alone")},
        PluginFault{"bus_error", "reads a mapped file beyond its end", "crashed",
                    ended_with("7 \\(SIGBUS: Bus error\\)")},
        PluginFault{"divide_by_zero", "divides an integer by zero", "crashed",
                    ended_with("8 \\(SIGFPE: Floating point exception\\)")},
        PluginFault{"trap", "runs into an illegal instruction", "crashed",
                    ended_with("4 \\(SIGILL: Illegal instruction\\)")},
        PluginFault{"abort", "calls abort", "crashed", ended_with("6 \\(SIGABRT: Aborted\\)")},
        PluginFault{
            "heap_overrun", "writes 64 bytes behind a block of the heap, and frees it", "crashed",
            ended_with("6 \\(SIGABRT: Aborted\\): free\\(\\): invalid next size \\(normal\\)")},
        PluginFault{"stack_overflow", "recurses without end", "crashed",
                    ended_with("11 \\(SIGSEGV: Segmentation fault\\), the stack overflowed")},
        PluginFault{"exit_0", "calls exit(0)", "crashed", "^the worker ended with exit code 0$"},
        PluginFault{"exit_3", "calls exit(3)", "crashed", "^the worker ended with exit code 3$"},
        PluginFault{"quick_exit", "calls _Exit(0)", "crashed",
                    "^the worker ended with exit code 0$"},
        PluginFault{"kill_group", "kills its process group with signal 9", "crashed",
                    ended_with("9 \\(SIGKILL: Killed\\)")}),
    plugin_fault_name);

INSTANTIATE_TEST_SUITE_P(
    Lingers, Plugin,
    ::testing::Values(
        PluginFault{"spin", "loops without end; its case may take 4 s", "timeout", too_late,
                    "measure.timeout: 4 s"},
        PluginFault{"sleep", "sleeps for hours; its case may take 4 s", "timeout", too_late,
                    "measure.timeout: 4 s"},
        PluginFault{"fork", "forks eight children in each of three calls, which never end", "ok",
                    "^$", "", "processes", still_ran},
        PluginFault{"daemon", "leaves a daemon in a session of its own in each of three calls",
                    "ok", "^$", "", "processes", still_ran},
        PluginFault{
            "orphan_hang",
            "leaves a daemon, no longer dies with its host, and hangs; its case may take 4 s",
            "timeout", too_late, "measure.timeout: 4 s"},
        PluginFault{"fork_both", "forks in three calls, and parent and child both go on", "ok",
                    "^$", "at_call: 6", "processes", still_ran}),
    plugin_fault_name);

INSTANTIATE_TEST_SUITE_P(
    Speaks, Plugin,
    ::testing::Values(
        PluginFault{"close_all", "closes every file descriptor", "crashed",
                    "^the worker (ended with|runs on)", "at_call: 4", "", "", false, true},
        PluginFault{"print_garbage",
                    "prints 8 MiB of random bytes in each of three calls, without a newline", "ok",
                    "^$"},
        PluginFault{"channel_garbage", "writes random bytes to the connection with the host",
                    "crashed",
                    "^the worker sent what is no message of a worker: a message of [0-9]+ bytes is "
                    "over the limit of 67108864$",
                    "at_call: 4"},
        PluginFault{"channel_length", "announces a message of 4 GiB to the host", "crashed",
                    "^the worker sent what is no message of a worker: a message of 4294967295 "
                    "bytes is over the limit of 67108864$",
                    "at_call: 4"}),
    plugin_fault_name);

INSTANTIATE_TEST_SUITE_P(
    Takes, Plugin,
    ::testing::Values(PluginFault{"allocate", "allocates host memory without end", "oom",
                                  "^host memory ran out: [34]\\.[0-9]+ GiB in use, the limit of "
                                  "ASSAY_HOST_MEMORY_LIMIT is 3\\.00 GiB$"},
                      PluginFault{"child_allocates",
                                  "starts a process that allocates host memory without end", "oom",
                                  "^host memory ran out: [34]\\.[0-9]+ GiB in use, the limit of "
                                  "ASSAY_HOST_MEMORY_LIMIT is 3\\.00 GiB$"},
                      PluginFault{"leak_tensors", "keeps a tensor of 4 MiB of each call", "ok",
                                  "^$", "", "leak", kept_by_it("00", "tensors on the host")},
                      PluginFault{"leak_heap", "keeps 4 MiB of each call, from malloc", "ok", "^$",
                                  "", "leak", kept_by_it("[0-9]{2}", "host memory")}),
    plugin_fault_name);

INSTANTIATE_TEST_SUITE_P(
    Lies, Plugin,
    ::testing::Values(
        PluginFault{"nan", "returns one NaN", "wrong",
                    "^out, which holds NaN, differs from the reference by "},
        PluginFault{"inf", "returns one infinity", "wrong",
                    "^out, which holds infinity, differs from the reference by "},
        PluginFault{"wrong_values", "returns values 1.5 times too large", "wrong",
                    "^out differs from the reference by 0\\.5, more than [0-9.e-]+$"},
        PluginFault{
            "wrong_shape", "returns a row less", "wrong",
            "^the attention's output has the shape \\[1, 2, 16, 8\\], not \\[1, 2, 17, 8\\]$"},
        PluginFault{"wrong_dtype", "returns float64 for float32", "wrong",
                    "^out has the dtype Double, not Float$"},
        PluginFault{"wrong_device", "returns a tensor on LibTorch's meta device", "wrong",
                    "^the attention's output is on the device meta, not cpu$"},
        PluginFault{
            "unwritten", "returns a buffer nobody has written", "wrong",
            "^out, which holds NaN, differs from the reference by inf, more than 0\\.0001$"},
        PluginFault{"undefined", "returns no tensor", "wrong",
                    "^the attention's output is an undefined tensor$"}),
    plugin_fault_name);

// The ninth call is a sample: one call comes first, one verifies, two warm up.
INSTANTIATE_TEST_SUITE_P(
    Later, Plugin,
    ::testing::Values(
        PluginFault{
            "wrong_values", "is right at first, and returns wrong values from its ninth call on",
            "wrong",
            "^in a timed call: out \\(a sample\\) differs from the reference by 0\\.5, more than "
            "[0-9.e-]+$",
            "at_call: 9"},
        PluginFault{"nan", "is right at first, and returns one NaN from its ninth call on", "wrong",
                    "^in a timed call: out holds NaN$", "at_call: 9"},
        PluginFault{
            "unwritten", "is right at first, and returns unwritten buffers from its ninth call on",
            "wrong",
            "^in a timed call: out (\\(a sample\\) differs from the reference by [0-9.e+-]+, "
            "more than [0-9.e-]+|holds (NaN|infinity))$",
            "at_call: 9", "", "", false, true}),
    plugin_fault_name);

}  // namespace
}  // namespace assay::faults
