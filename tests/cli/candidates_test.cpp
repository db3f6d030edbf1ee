#include "cli/complete/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/test_catalogue.h"

namespace assay::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Words = std::vector<std::string>;

// The candidates for the last word.
Words offered(Words words) {
  words.insert(words.begin(), "assay");
  Completion known;
  known.commands = {"bench", "report", "run"};
  known.help = [](const std::string& command) {
    return "Options:\n  --results FOLDER  where\n  --" + command + "-only arg\n";
  };
  known.runs = [] { return Words{"latest", "toy-1", "toy-2"}; };
  known.baselines = [] { return Words{"main"}; };
  known.experiments = [] { return Words{"quickstart"}; };
  known.layouts = [] { return Words{"model_totals"}; };
  known.models = [] { return Words{"small", "xl"}; };
  known.catalogue = [] { return std::optional(config::test_catalogue()); };
  return candidates(known, words, words.size() - 1);
}

TEST(Candidates, AreCommandsFirst) {
  EXPECT_THAT(offered({"re"}), ElementsAre("report"));
  EXPECT_THAT(offered({""}), IsSupersetOf({"bench", "run", "--version"}));
}

TEST(Candidates, AreWhatTheCommandTakes) {
  EXPECT_THAT(offered({"report", "toy"}), ElementsAre("toy-1", "toy-2"));
  EXPECT_THAT(offered({"report", "--layout", ""}), ElementsAre("model_totals"));
  EXPECT_THAT(offered({"report", "--re"}), ElementsAre("--report-only", "--results"));
  EXPECT_THAT(offered({"run", "q"}), ElementsAre("quickstart"));
  EXPECT_THAT(offered({"run", "./q"}), IsEmpty()) << "the shell offers files";
  EXPECT_THAT(offered({"show", "att"}), ElementsAre("attention/"));
  EXPECT_THAT(offered({"show", "attention/na"}), ElementsAre("attention/naive"));
  EXPECT_THAT(offered({"show", "model/"}), ElementsAre("model/small", "model/xl"));
}

TEST(Candidates, OfABenchAreKindsVariantsAndParameters) {
  EXPECT_THAT(offered({"bench", "at"}), ElementsAre("attention"));
  EXPECT_THAT(offered({"bench", "attention", "naive", "fl"}),
              ElementsAre("flash", "flash_libtorch"));
  EXPECT_THAT(offered({"bench", "attention", "naive", "--"}),
              IsSupersetOf({"--seq-len", "--block-m", "--precision", "--samples", "--results"}));
  EXPECT_THAT(offered({"bench", "attention", "naive", "--"}), Not(Contains("--attention")));
  EXPECT_THAT(offered({"bench", "attention", "naive", "--precision", "bf16_m"}),
              ElementsAre("bf16_master"));
  EXPECT_THAT(offered({"bench", "compile", "eager", "--model", "x"}), ElementsAre("xl"));
  EXPECT_THAT(offered({"bench", "attention", "naive", "--baseline", ""}), ElementsAre("main"));
}

TEST(CompletionScript, AsksTheProgram) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(*completion_script(shell), ::testing::HasSubstr("completion candidates"));
  }
  EXPECT_FALSE(completion_script("tcsh"));
}

}  // namespace
}  // namespace assay::cli
