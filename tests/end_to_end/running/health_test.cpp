// The machine's health while a case is measured, from the readings to the report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A driver that throttles its GPU while this object lives.
class FakeDriver {
 public:
  explicit FakeDriver(const char* reasons) {
    ::setenv("FAKE_NVML_REASONS", reasons, 1);
    ::setenv("LD_LIBRARY_PATH", ASSAY_BUILD_DIR "/tests/fake_nvml", 1);
  }
  ~FakeDriver() {
    ::unsetenv("FAKE_NVML_REASONS");
    ::unsetenv("LD_LIBRARY_PATH");
  }
};

TEST(HealthTest, TheDoctorSaysWhatIsWatchedAndWhatIsUnfit) {
  if (std::getenv("LD_LIBRARY_PATH") != nullptr) GTEST_SKIP() << "LD_LIBRARY_PATH is set";
  const FakeDriver driver("0x20");
  const Folder folder;
  const Ended ended = assay(folder.path(), {"doctor"});
  EXPECT_THAT(ended.output,
              HasSubstr("health of GPU 0    1980 MHz, 2619 MHz memory, 41 °C, 512 W"));
  EXPECT_THAT(ended.output, HasSubstr("health of CPU"));
  EXPECT_THAT(ended.output, HasSubstr("unfit    throttled          the clocks of GPU 0 were held "
                                      "down by heat (software slowdown) (1 of 1 readings)"));
}

TEST(HealthTest, TheDoctorOfAFitMachineHasNothingUnfitOfItsGpu) {
  if (std::getenv("LD_LIBRARY_PATH") != nullptr) GTEST_SKIP() << "LD_LIBRARY_PATH is set";
  const FakeDriver driver("0x1");
  const Folder folder;
  EXPECT_THAT(assay(folder.path(), {"doctor"}).output, Not(HasSubstr("GPU 0 were held")));
}

constexpr const char* cold =
    "experiment: cold\nworkload: model_step\n"
    "fixed: {model: toy, architecture: swiglu, batch: 2, seq_len: 16, device: cpu}\n"
    "measure: {passes: [inference], warmup: 1, samples: 3}\n";

TEST(HealthTest, ACaseKeepsWhatWasSeen) {
  const Folder folder;
  const Ended ended = assay(folder.path(), {"run", folder.write("cold.yaml", cold)});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const std::string exported = assay(folder.path(), {"export", "latest"}).output;
  const auto line = nlohmann::json::parse(split(exported, '\n').front());
  const nlohmann::json& health = line["provenance"]["case"]["context"]["health"];
  EXPECT_GT(health["seconds"].get<double>(), 0);
  EXPECT_GE(health["readings"].get<int>(), 2);
  EXPECT_TRUE(health["cpu"].contains("load"));
  EXPECT_FALSE(health.contains("gpus")) << "the case is on the CPU";
  EXPECT_TRUE(line["machine"].contains("health"));
}

}  // namespace
}  // namespace assay::test
