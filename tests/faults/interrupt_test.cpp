// Signals to the running host from a user, a batch system or a closing terminal.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <utility>

#include "trial.h"

namespace assay::faults {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A terminal for a test: `keyboard` reads the output of `screen`.
class Terminal {
 public:
  Terminal() {
    EXPECT_EQ(::grantpt(keyboard), 0);
    EXPECT_EQ(::unlockpt(keyboard), 0);
    screen = ::ptsname(keyboard);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { close(); }
  // Hangs up.
  void close() {
    if (keyboard >= 0) ::close(std::exchange(keyboard, -1));
  }

  int keyboard = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::string screen;
};

// Six cases of about 0.3 s; in the third a plugin may hang, or wait for permission.
std::string six_cases(const std::string& third) {
  const auto nap = [](int seq_len) {
    return fmt::format("  - {{attention: {{hostile: {{fault: nap}}}}, seq_len: {}}}\n", seq_len);
  };
  return "experiment: interrupts\nworkload: attention\n"
         "fixed: {batch: 1, heads: 1, d_head: 8, device: cpu}\n"
         "measure: {passes: [forward], warmup: 2, samples: 10, timeout: 3 min}\n"
         "include:\n" +
         nap(1) + nap(2) +
         fmt::format("  - {{attention: {{hostile: {{fault: {}}}}}, seq_len: 3}}\n", third) +
         nap(4) + nap(5) + nap(6);
}

class Interrupt : public ::testing::Test {
 protected:
  std::vector<std::string> words(const std::string& file,
                                 const std::string& plugin = "hostile_attention") const {
    return {"run", file, "--plugin", test::fixture(plugin)};
  }

  // Starts it and waits for so many finished cases.
  void wait_for(Host& host, std::size_t cases) {
    ASSERT_TRUE(wait_until(100, [&] { return reported(host.errors()).size() >= cases; }))
        << host.errors();
  }

  // The plugin writes it once it hangs or waits.
  std::filesystem::path file_of_the_strike() {
    const auto file = trial_.folder().path() / "struck";
    trial_.environment["HOSTILE_STRUCK"] = file.string();
    return file;
  }
  void wait_for_file(Host& host, const std::filesystem::path& file) {
    ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(file) || !host.running(); }));
    ASSERT_TRUE(host.running()) << host.errors();
  }

  // Checks what is stored after the signal and that a resume completes it.
  void expect_kept_and_resumed(const End& end, std::vector<std::string> arguments,
                               std::size_t cases = 6) {
    trial_.expect_sound();
    const std::size_t kept = trial_.stored().cases.size();
    EXPECT_EQ(kept, reported(end.errors).size());
    EXPECT_LT(kept, cases);
    arguments.insert(arguments.end(), {"--resume", "--changed"});  // of a file mended meanwhile
    const End resumed = trial_.run(arguments);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
    EXPECT_EQ(reported(resumed.errors).size(), cases - kept) << "what is finished is not run again";
    EXPECT_EQ(trial_.stored().cases.size(), cases);
    for (const auto& result : trial_.stored().cases) EXPECT_EQ(result.outcome, Outcome::ok);
    trial_.expect_sound();
  }

  // Calls `strike` within the third case, which ends only after it. ahead: words before the
  // program.
  End in_the_third_case(const std::function<void(Host&)>& strike,
                        std::vector<std::string> ahead = {}) {
    trial_.folder().write("e.yaml", six_cases("wait"));
    trial_.environment["HOSTILE_LEAVE"] = (trial_.folder().path() / "leave").string();
    const auto there = file_of_the_strike();
    Host::Command command = trial_.command(words("e.yaml"));
    command.ahead = std::move(ahead);
    Host host(command);
    wait_for_file(host, there);
    strike(host);
    trial_.folder().write("leave", "");
    const End end = host.wait(60);
    trial_.saw(end);
    EXPECT_EQ(host.left_behind(), "");
    return end;
  }

  void once(int signal, const char* name) {
    const End end = in_the_third_case([&](Host& host) { host.send_and_see_taken(signal); });
    EXPECT_EQ(end.exit_code, 1) << end.errors;
    EXPECT_THAT(end.output, HasSubstr("interrupted"));
    EXPECT_THAT(trial_.folder().read("results/interrupts-1/report.md"), HasSubstr("# interrupts"))
        << "the report is written all the same";
    EXPECT_EQ(trial_.stored().cases.size(), 3u);
    for (const auto& result : trial_.stored().cases) EXPECT_EQ(result.outcome, Outcome::ok);
    expect_kept_and_resumed(end, words("e.yaml"));
    trial_.record(fmt::format("{} once, in the third of 6 cases", name), "exit code 1",
                  "the case is finished, the report written, and `--resume` runs the rest",
                  "3 of 3 ok, then 6 of 6");
  }

  void twice(int signal, const char* name) {
    trial_.folder().write("e.yaml", six_cases("sleep"));
    trial_.folder().write("awake.yaml", six_cases("nap"));
    Host host(trial_.command(words("e.yaml")));
    wait_for(host, 2);
    host.send_and_see_taken(signal);
    host.send(signal);
    // Far less than the case's limit.
    const End end = host.wait(60);
    trial_.saw(end);
    EXPECT_EQ(host.left_behind(), "");
    EXPECT_EQ(end.exit_code, 1) << end.errors;
    EXPECT_EQ(trial_.stored().cases.size(), 2u);
    expect_kept_and_resumed(end, words("awake.yaml"));
    trial_.record(fmt::format("{} twice, in a case that hangs, the third of 6", name),
                  "exit code 1", "it stops at once; the case that ran is not stored",
                  "2 of 2 ok, then 6 of 6");
  }

  Trial trial_{"Signals to the host"};
};

// The third of six cases is that of the second chapter's which it waits in.
TEST_F(Interrupt, OfASuite) {
  const auto chapter = [](const char* name, int first, const std::string& third) {
    std::string text = fmt::format(
        "experiment: {}\nworkload: attention\n"
        "fixed: {{batch: 1, heads: 1, d_head: 8, device: cpu}}\n"
        "measure: {{passes: [forward], warmup: 2, samples: 3}}\ninclude:\n",
        name);
    for (const std::string& fault : {std::string("nap"), third}) {
      text += fmt::format("  - {{attention: {{hostile: {{fault: {}}}}}, seq_len: {}}}\n", fault,
                          first++);
    }
    return text;
  };
  trial_.folder().write("a.yaml", chapter("a", 1, "nap"));
  trial_.folder().write("b.yaml", chapter("b", 2, "wait"));
  trial_.folder().write("suite.yaml",
                        "suite: interrupts\nchapters: [{experiment: a}, {experiment: b}, "
                        "{chapter: c, experiment: a, set: {d_head: 16}}]\n");
  trial_.environment["HOSTILE_LEAVE"] = (trial_.folder().path() / "leave").string();
  const auto there = file_of_the_strike();
  Host host(trial_.command(words("suite.yaml")));
  wait_for_file(host, there);
  host.send_and_see_taken(SIGINT);
  trial_.folder().write("leave", "");
  const End end = host.wait(60);
  EXPECT_EQ(end.exit_code, 1) << end.errors;
  EXPECT_THAT(end.output, HasSubstr("--resume interrupts-1"));
  EXPECT_EQ(trial_.stored().cases.size(), 3u) << "1, 2 of both, 3";
  const std::string page = trial_.folder().read("results/interrupts-1/report.md");
  EXPECT_THAT(page, HasSubstr("## 2. b"));
  EXPECT_THAT(page, HasSubstr("- **c**: a (not measured)"));
  const End resumed = trial_.run(
      {"run", "--resume", "interrupts-1", "--plugin", test::fixture("hostile_attention")});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(reported(resumed.errors).size(), trial_.stored().cases.size() - 3);
  EXPECT_THAT(trial_.folder().read("results/interrupts-1/report.md"), HasSubstr("## 3. a"));
  trial_.record("SIGINT once, in the second of a suite's three chapters", "exit code 1",
                "the case is finished, the document names the chapters that are not measured, and "
                "`--resume` runs the rest",
                "3 of 3 ok, then all");
}

TEST_F(Interrupt, Once) { once(SIGINT, "SIGINT (Ctrl-C)"); }
TEST_F(Interrupt, OnceByTerm) { once(SIGTERM, "SIGTERM"); }
TEST_F(Interrupt, OnceWhereTheDriverHasThreads) {
  if (std::getenv("LD_LIBRARY_PATH") != nullptr) GTEST_SKIP() << "LD_LIBRARY_PATH is set";
  trial_.environment["LD_LIBRARY_PATH"] = ASSAY_BUILD_DIR "/tests/fake_nvml";
  trial_.environment["FAKE_NVML_THREAD"] = "1";
  once(SIGINT, "SIGINT where a GPU's driver has threads of its own,");
}
TEST_F(Interrupt, Twice) { twice(SIGINT, "SIGINT (Ctrl-C)"); }
TEST_F(Interrupt, TwiceByTerm) { twice(SIGTERM, "SIGTERM"); }

TEST_F(Interrupt, HangUp) { once(SIGHUP, "SIGHUP (its session ends)"); }

// Its progress goes to a closed terminal.
TEST_F(Interrupt, TheTerminalIsClosed) {
  Terminal terminal;
  const End end = in_the_third_case(
      [&](Host& host) {
        terminal.close();
        host.send_and_see_taken(SIGHUP);
      },
      {"sh", "-c", "exec \"$0\" \"$@\" 2>" + terminal.screen});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(trial_.folder().read("results/interrupts-1/report.md"), HasSubstr("# interrupts"));
  EXPECT_EQ(trial_.stored().cases.size(), 3u);
  EXPECT_EQ(
      trial_
          .run({"run", "--resume", "interrupts-1", "--plugin", test::fixture("hostile_attention")})
          .exit_code,
      0);
  EXPECT_EQ(trial_.stored().cases.size(), 6u);
  trial_.expect_sound();
  trial_.record("its terminal is closed, which sends SIGHUP, in the third of 6 cases",
                "exit code 1",
                "the case is finished, the report written, and `--resume` runs the rest",
                "3 of 3 ok, then 6 of 6");
}

// Ctrl-S for ever: the progress of the first of two runs blocks neither run. Only the tables wait
// for the terminal to continue.
TEST_F(Interrupt, TheTerminalIsStopped) {
  Terminal terminal;
  const int line = ::open(terminal.screen.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_EQ(::tcflow(line, TCOOFF), 0);
  trial_.folder().write("e.yaml", six_cases("nap"));
  Host::Command command =
      trial_.command({"run", "e.yaml", "e.yaml", "--plugin", test::fixture("hostile_attention")});
  command.ahead = {"sh", "-c", "exec \"$0\" \"$@\" >" + terminal.screen + " 2>&1"};
  Host host(command);
  const auto last = trial_.folder().path() / "results/interrupts-2/report.md";
  EXPECT_TRUE(wait_until(100, [&] { return std::filesystem::exists(last); }));
  EXPECT_TRUE(host.running()) << "its tables have not been read";
  ASSERT_EQ(::tcflow(line, TCOON), 0);
  std::string shown;
  ASSERT_TRUE(wait_until(100, [&] {
    pollfd ready = {terminal.keyboard, POLLIN, 0};
    char text[4096];
    while (::poll(&ready, 1, 0) > 0) {
      const ssize_t count = ::read(terminal.keyboard, text, sizeof text);
      if (count <= 0) break;
      shown.append(text, static_cast<std::size_t>(count));
    }
    return !host.running();
  }));
  EXPECT_EQ(host.wait(60).exit_code, 0);
  EXPECT_THAT(shown, HasSubstr("interrupts-1/report.md"));
  EXPECT_THAT(shown, HasSubstr("interrupts-2/report.md"));
  for (const char* run : {"interrupts-1", "interrupts-2"}) {
    EXPECT_EQ(trial_.stored(run).cases.size(), 6u) << run;
  }
  ::close(line);
  trial_.record(
      "its terminal is stopped (Ctrl-S) before the first of two runs, and runs on after "
      "the second",
      "exit code 0", "both runs are measured and reported; their tables wait", "12 of 12 ok");
}

TEST_F(Interrupt, NobodyCanReadWhatItSays) {
  trial_.folder().write("e.yaml", six_cases("nap"));
  for (const char* streams : {"2>/dev/full", "2>&-", ">/dev/full 2>&1"}) {
    Host::Command command = trial_.command(words("e.yaml"));
    command.ahead = {"sh", "-c", std::string("exec \"$0\" \"$@\" ") + streams};
    Host host(command);
    const End end = host.wait(60);
    EXPECT_EQ(end.exit_code, std::string(streams).starts_with('>') ? 4 : 0) << streams;
    EXPECT_EQ(host.left_behind(), "");
    EXPECT_EQ(trial_.stored().cases.size(), 6u) << streams;
  }
  trial_.record("the disk of its log is full, or its standard error is closed",
                "exit code 0, or 4 where its tables were to go there", "the run goes on",
                "6 of 6 ok each time");
}

TEST_F(Interrupt, ASecondHostIsToMeasureTheSameRun) {
  End second;
  const End end = in_the_third_case([&](Host&) {
    second = trial_.run(
        {"run", "--resume", "interrupts-1", "--plugin", test::fixture("hostile_attention")});
  });
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("is measuring the run interrupts-1"));
  EXPECT_EQ(end.exit_code, 0) << end.errors;
  EXPECT_EQ(trial_.stored().cases.size(), 6u);
  trial_.record("`--resume` of a run that another host is measuring", "exit code 2",
                "the other's process is named; it goes on", "6 of 6 ok");
}

TEST_F(Interrupt, APluginIsBuiltAnewMeanwhile) {
  const auto plugin = trial_.folder().path() / "mine.so";
  std::filesystem::copy_file(test::fixture("hostile_attention"), plugin);
  trial_.folder().write("e.yaml", six_cases("wait"));
  trial_.environment["HOSTILE_LEAVE"] = (trial_.folder().path() / "leave").string();
  const auto there = file_of_the_strike();
  Host host(trial_.command({"run", "e.yaml", "--plugin", plugin.string()}));
  wait_for_file(host, there);
  const auto other = trial_.folder().path() / "other.so";
  std::filesystem::copy_file(plugin, other);
  std::ofstream(other, std::ios::app) << "another build";
  std::filesystem::rename(other, plugin);
  trial_.folder().write("leave", "");
  const End end = host.wait(60);
  trial_.saw(end);
  EXPECT_EQ(end.exit_code, 1) << end.errors;
  const auto cases = trial_.stored().cases;
  ASSERT_EQ(cases.size(), 6u);
  EXPECT_EQ(cases[2].outcome, Outcome::error);
  EXPECT_THAT(cases[2].reason, StartsWith("mine.so changed while the case was measured"));
  EXPECT_NE(cases[2].build, cases[0].build) << "nor is it of the later one";
  EXPECT_NE(cases[2].build, cases[3].build);
  for (const std::size_t index : {0u, 1u, 3u, 4u, 5u}) {
    EXPECT_EQ(cases[index].outcome, Outcome::ok);
    EXPECT_EQ(cases[index].build == cases[0].build, index < 3) << "case " << index + 1;
  }
  const End resumed = trial_.run({"run", "e.yaml", "--resume", "--plugin", plugin.string()});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(reported(resumed.errors).size(), 3u) << "those that another binary measured";
  trial_.record("a plugin's library is replaced by another build in the third of 6 cases",
                "exit code 1", cases[2].reason,
                "5 of 6 ok, the later ones with the new build named");
}

// A worker that would outlive its host, and a daemon that has left its session.
TEST_F(Interrupt, KillWhileAPluginHasLeftADaemonAndHangs) {
  trial_.folder().write("e.yaml", six_cases("orphan_hang"));
  trial_.folder().write("awake.yaml", six_cases("nap"));
  const auto daemon = file_of_the_strike();
  Host host(trial_.command(words("e.yaml")));
  wait_for_file(host, daemon);
  host.send(SIGKILL);
  const End end = host.wait(60);
  trial_.saw(end);
  EXPECT_EQ(host.left_behind(), "");
  expect_kept_and_resumed(end, words("awake.yaml"));
  trial_.record(
      "kill -9 of the host while a plugin has left a daemon in a session of its own, has "
      "stopped dying with its host, and hangs",
      "exit code 137", "no process is left; `--resume` runs the rest", "2 of 2 ok, then 6 of 6");
}

// Three cases on three ranks; in the second, rank 1 may hang within a collective.
std::string three_cases_on_ranks(const std::string& second) {
  return fmt::format(
      "experiment: ranks\nworkload: hostile_ranks\n"
      "fixed: {{world_size: 3, device: cpu}}\n"
      "measure: {{warmup: 2, samples: 3, timeout: 3 min}}\n"
      "include:\n"
      "  - {{fault: none, culprit: 0}}\n"
      "  - {{fault: {}, moment: within, culprit: 1}}\n"
      "  - {{fault: none, culprit: 1}}\n",
      second);
}

TEST_F(Interrupt, KillWhileRanksAreWithinACollective) {
  trial_.folder().write("e.yaml", three_cases_on_ranks("hang"));
  trial_.folder().write("awake.yaml", three_cases_on_ranks("none"));
  const auto struck = trial_.folder().path() / "struck";
  trial_.environment["HOSTILE_RANKS_STRIKE"] = struck.string();
  Host host(trial_.command(words("e.yaml", "hostile_ranks")));
  ASSERT_TRUE(wait_until(100, [&] { return std::filesystem::exists(struck) || !host.running(); }));
  EXPECT_EQ(host.workers().size(), 3u) << host.errors();
  host.send(SIGKILL);
  const End end = host.wait(60);
  trial_.saw(end);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_GE(end.listeners, 2u) << "the host's and that of rank 0";
  EXPECT_EQ(host.left_behind(), "");
  expect_kept_and_resumed(end, words("awake.yaml", "hostile_ranks"), 3);
  trial_.record(
      "kill -9 of the host while three ranks are within a collective that one of them "
      "does not leave",
      "exit code 137", "no rank is left, nor a port; `--resume` runs the rest",
      "1 of 1 ok, then 3 of 3");
}

}  // namespace
}  // namespace assay::faults
