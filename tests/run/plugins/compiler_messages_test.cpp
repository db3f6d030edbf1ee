// The reason that a build's messages give, as g++ 12, clang 14, nvcc 13 and ld print them.

#include "run/plugins/compiler_messages.h"

#include <gtest/gtest.h>

namespace assay::run {
namespace {

struct Messages {
  const char* name;
  const char* printed;
  Outcome outcome;
  const char* reason;
};

class CompilerMessages : public ::testing::TestWithParam<Messages> {};

TEST_P(CompilerMessages, GiveTheReason) {
  const BuildProblem problem = problem_in(GetParam().printed);
  EXPECT_EQ(problem.outcome, GetParam().outcome);
  EXPECT_EQ(problem.reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Printed, CompilerMessages,
    ::testing::Values(
        Messages{"AnErrorOfGcc",
                 "In file included from /home/me/mine/forward.cpp:3:\n"
                 "/home/me/mine/tile.h:7:14: warning: unused variable 'x'\n"
                 "/home/me/mine/tile.h:9:3: error: 'widht' was not declared in this scope\n"
                 "/home/me/mine/tile.h:12:3: error: expected ';'\n",
                 Outcome::error, "tile.h:9:3: error: 'widht' was not declared in this scope"},
        Messages{"ARefusalOfGcc",
                 "/home/me/mine/sizes.h:10:20: error: static assertion failed: at most 64 rows\n"
                 "   10 | static_assert(tile <= 64, \"at most 64 rows\");\n",
                 Outcome::unsupported, "at most 64 rows"},
        Messages{"ARefusalOfClang",
                 "sizes.h:10:1: error: static assertion failed due to requirement 'tile <= 64': at "
                 "most 64 rows\n",
                 Outcome::unsupported, "at most 64 rows"},
        Messages{"ARefusalOfNvcc",
                 "/home/me/sizes.cuh(10): error: static assertion failed with \"at most 64 rows\"\n"
                 "\n1 error detected in the compilation of \"forward.cu\".\n",
                 Outcome::unsupported, "at most 64 rows"},
        Messages{"AnErrorBeforeARefusal",
                 "a.h:1:1: error: 'T' does not name a type\n"
                 "a.h:2:1: error: static assertion failed: at most 64 rows\n",
                 Outcome::error, "a.h:1:1: error: 'T' does not name a type"},
        // 0x80000 is 524288, 0x38c00 is 232448.
        Messages{"TooMuchSharedMemory",
                 "ptxas error   : Entry function '_ZN5tiled6attendIfEEvPKT_S3_S3_PS1_NS_5SizesE' "
                 "uses too much shared data (0x80000 bytes, 0x38c00 max)\n",
                 Outcome::unsupported, "shared memory: it needs 524288 bytes, the limit is 232448"},
        Messages{"TooManyRegisters",
                 "ptxas fatal   : (C7600) Register allocation failed with register count of '64'. "
                 "Compile the program with a higher register target\n",
                 Outcome::unsupported, "registers: 64 a thread are too few for it"},
        Messages{
            "AnErrorOfTheLinker",
            "/usr/bin/ld: /tmp/a.o: in function `f()':\na.cpp:(.text+0x9): undefined reference "
            "to `g()'\ncollect2: error: ld returned 1 exit status\n",
            Outcome::error, "a.cpp:(.text+0x9): undefined reference to `g()'"},
        Messages{"AnotherEnd", "the compiler ended with signal 9 (SIGKILL: Killed)", Outcome::error,
                 "the compiler ended with signal 9 (SIGKILL: Killed)"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace assay::run
