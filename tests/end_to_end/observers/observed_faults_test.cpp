// Steps that go wrong under an observer: their outcome is told, what was timed before stays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observers/stored.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// How the second observed step of the fixture observed_faults goes wrong.
struct Fault {
  const char* mode;
  const char* timeout;
  Outcome outcome;
  const char* reason;
  const char* memory_seen;  // what observe: memory says of it; "": it left nothing
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.mode; }

class ObservedFault : public testing::TestWithParam<Fault> {
 protected:
  store::CaseResult observed_by(const std::string& observer) const {
    const Fault& fault = GetParam();
    const std::string experiment = folder_.write(
        "e.yaml",
        "experiment: m\nworkload: observed_faults\nfixed: {mode: " + std::string(fault.mode) +
            "}\nmeasure: {samples: 3, warmup: 1, artefact_limit: 64 MiB, timeout: " +
            fault.timeout + "}\nobserve: [" + observer + "]\n");
    const Ended ended =
        assay(folder_.path(), {"run", experiment, "--plugin", fixture("observed_faults")});
    EXPECT_EQ(ended.exit_code, fault.outcome == Outcome::ok ? 0 : 1) << ended.errors;
    store::CaseResult result = stored_case(folder_);
    EXPECT_EQ(result.outcome, fault.outcome) << result.reason;
    EXPECT_THAT(result.reason, HasSubstr(fault.reason));
    const store::Series* time = series_of(result, "time");
    EXPECT_TRUE(time != nullptr && time->outcome == Outcome::ok && time->samples.size() == 3)
        << "what was timed stays";
    for (const store::Artefact& file : result.artefacts) {
      EXPECT_LT(file.bytes, std::int64_t{40} << 20);
    }
    return result;
  }

 private:
  Folder folder_;
};

TEST_P(ObservedFault, UnderMemoryKeepsTheTimesAndSaysWhy) {
  const store::CaseResult result = observed_by("memory");
  const std::string expected = GetParam().memory_seen;
  const store::Series* seen = series_of(result, "memory_seen");
  ASSERT_EQ(seen == nullptr, expected.empty());
  if (seen == nullptr) return;
  EXPECT_THAT(seen->words.front(), HasSubstr(expected));
  const double flood = 7 * 4;  // the largest of the many
  EXPECT_EQ(series_of(result, "memory_peak", "forward")->samples.back(),
            GetParam().mode == std::string("floods") ? 4096 + flood : 4096);
  EXPECT_THAT(result.artefacts, SizeIs(2));
}

TEST_P(ObservedFault, UnderKernelsKeepsTheTimesAndSaysWhy) {
  const store::CaseResult result = observed_by("kernels");
  const bool profiled = series_of(result, "calls", "aten::ones") != nullptr;
  EXPECT_EQ(profiled, GetParam().outcome == Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ObservedFault,
    testing::Values(Fault{"crashes", "60 s", Outcome::crashed, "SIGSEGV", ""},
                    Fault{"hangs", "4 s", Outcome::timeout, "", ""},
                    Fault{"exhausts", "60 s", Outcome::oom, "",
                          "2 steps; 1152921504606846976 bytes were not to be had"},
                    Fault{"throws", "60 s", Outcome::error, "does not like it", "2 steps"},
                    Fault{"floods", "60 s", Outcome::ok, "", "2 steps, the last in part"}),
    [](const auto& tested) { return std::string(tested.param.mode); });

}  // namespace
}  // namespace assay::test
