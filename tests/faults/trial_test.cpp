// The table's last column is computed: a case reported as finished but not stored is lost.

#include <gtest/gtest.h>

#include "trial.h"

namespace assay::faults {
namespace {

End that_told(const std::string& lines) {
  End end;
  end.errors = lines;
  return end;
}

TEST(TrialTest, KnowsWhatIsLost) {
  Trial trial("Results");
  trial.folder().write("kept.csv",
                       "attention,seq_len,pass,time.samples [ms]\n"
                       "naive,1,forward,[1 1]\nnaive,2,forward,[1 1]\n");
  EXPECT_EQ(trial.lost(), "nothing") << "nothing was reported";
  ASSERT_EQ(trial.run({"import", "kept.csv"}).exit_code, 0);
  const auto names = trial.run_names();
  ASSERT_EQ(names.size(), 1u);
  const std::string head = "run " + names[0] + ": 3 cases\n";
  trial.saw(that_told(head + "1/3 seq_len=1: ok (5 ms)\n2/3 seq_len=2: ok, busy (5 ms)\n"));
  EXPECT_EQ(trial.lost(), "nothing");
  trial.saw(that_told("run " + names[0] + ": 3 cases, 2 already done\n3/3 seq_len=3: ok (5 ms)\n"));
  EXPECT_EQ(trial.lost(), "seq_len=3 of " + names[0] + ", reported as ok");
  trial.forget_reported();
  trial.saw(that_told(head + "1/3 seq_len=1: oom (5 ms): too large\n"));
  EXPECT_EQ(trial.lost(), "seq_len=1 of " + names[0] + ", reported as oom");
}

TEST(TrialTest, TwoCasesToldAlikeAreTwo) {
  Trial trial("Results");
  trial.folder().write("kept.csv",
                       "attention,repeat,pass,time.samples [ms]\nnaive,1,forward,[1 1]\n");
  ASSERT_EQ(trial.run({"import", "kept.csv"}).exit_code, 0);
  trial.saw(that_told("run " + trial.run_names()[0] +
                      ": 2 cases\n1/2 attention=naive: ok (1 ms)\n"
                      "2/2 attention=naive repeat=1: ok (1 ms)\n"));
  EXPECT_EQ(trial.lost(), "attention=naive of " + trial.run_names()[0] + ", reported as ok");
}

TEST(TrialTest, ACauseIsAReasonWithoutWhatDiffersEachTime) {
  EXPECT_EQ(cause_of("host memory ran out: 3.01 GiB in use"),
            cause_of("host memory ran out: 3 GiB in use"));
  EXPECT_EQ(cause_of("did not finish within 4.0 s (at 'building')"),
            cause_of("did not finish within 4.0 s (at 'first call of forward')"));
  EXPECT_EQ(cause_of("no JSON object: \xef\xbf\xbd$x"), cause_of("no JSON object: \xff\xfe"));
  EXPECT_NE(cause_of("signal 11 (SIGSEGV)"), cause_of("signal 9 (SIGKILL)"));
}

}  // namespace
}  // namespace assay::faults
