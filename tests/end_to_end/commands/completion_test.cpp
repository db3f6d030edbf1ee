// The completion scripts in their shells, as someone at a terminal uses them: a tab after the
// beginning of a word.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "support/program.h"

namespace assay::test {
namespace {

struct Shell {
  const char* name;
  std::vector<std::string> words;  // starts it without the user's own settings
  const char* terminal;
  const char* load;  // no prompt, and the script
};

void PrintTo(const Shell& shell, std::ostream* out) { *out << shell.name; }

class AtTheShell {
 public:
  AtTheShell(const Folder& folder, const Shell& shell) {
    const std::string path = ASSAY_BUILD_DIR "/bin:" + std::string(std::getenv("PATH"));
    std::vector<std::string> words = {"env", "PATH=" + path, "HOME=" + folder.path().string(),
                                      std::string("TERM=") + shell.terminal};
    words.insert(words.end(), shell.words.begin(), shell.words.end());
    started_ = start_at_terminal(folder.path(), words);
    type(std::string(shell.load) + "; echo REA''DY\n");
    read_to("READY");
  }
  ~AtTheShell() {
    if (started_.child > 0) {
      ::kill(started_.child, SIGKILL);
      ::waitpid(started_.child, nullptr, 0);
    }
    ::close(started_.terminal);
  }
  AtTheShell(const AtTheShell&) = delete;
  AtTheShell& operator=(const AtTheShell&) = delete;

  // What becomes of the line by a tab: it is made an argument of echo, from its beginning to its
  // end, and echoed.
  std::string completed(const std::string& line) {
    type(line + "\t" + to_beginning + "echo GO''T '<" + to_end + ">'\n");
    read_to("GOT <");
    return std::string(trim(read_to(">")));
  }

 private:
  static constexpr const char* to_beginning = "\x01";
  static constexpr const char* to_end = "\x05";

  void type(const std::string& keys) {
    ASSERT_EQ(::write(started_.terminal, keys.data(), keys.size()),
              static_cast<ssize_t>(keys.size()));
  }

  // What stands before `end`; "" and a failure where it does not come.
  std::string read_to(const std::string& end) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (read_.find(end) == std::string::npos) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      pollfd wait = {started_.terminal, POLLIN, 0};
      char bytes[4096];
      ssize_t count = 0;
      if (left.count() > 0 && ::poll(&wait, 1, static_cast<int>(left.count())) > 0) {
        count = ::read(started_.terminal, bytes, sizeof(bytes));
      }
      if (count <= 0) {
        ADD_FAILURE() << "no '" << end << "' in: " << read_;
        return "";
      }
      read_.append(bytes, static_cast<std::size_t>(count));
    }
    const std::size_t at = read_.find(end);
    std::string before = read_.substr(0, at);
    read_.erase(0, at + end.size());
    return before;
  }

  AtTerminal started_;
  std::string read_;
};

class Completes : public testing::TestWithParam<Shell> {};

TEST_P(Completes, CommandsKindsVariantsParametersAndRuns) {
  const Folder folder;
  const Ended there = program(folder.path(), {GetParam().name, "-c", "exit 0"});
  if (there.exit_code != 0) GTEST_SKIP() << "there is no " << GetParam().name << " here";
  folder.write("toy.csv", "attention,pass,time.mean [ms]\nnaive,forward,1\n");
  ASSERT_EQ(assay(folder.path(), {"import", "toy.csv"}).exit_code, 0);

  AtTheShell shell(folder, GetParam());
  EXPECT_EQ(shell.completed("assay repo"), "assay report");
  EXPECT_EQ(shell.completed("assay bench atten"), "assay bench attention");
  EXPECT_EQ(shell.completed("assay bench attention naive fla"),
            "assay bench attention naive flash");
  EXPECT_EQ(shell.completed("assay bench attention naive --seq"),
            "assay bench attention naive --seq-len");
  EXPECT_EQ(shell.completed("assay report to"), "assay report toy-1") << "not the file";
  EXPECT_EQ(shell.completed("assay show attention/nai"), "assay show attention/naive");
  EXPECT_EQ(shell.completed("assay plan toy.c"), "assay plan toy.csv") << "a file";
}

INSTANTIATE_TEST_SUITE_P(
    InShells, Completes,
    testing::Values(
        Shell{"bash",
              {"bash", "--norc", "--noprofile", "-i"},
              "dumb",
              "PS1=; source <(assay completion bash)"},
        Shell{"zsh",
              {"zsh", "-f", "-i"},
              "dumb",
              "PS1=; autoload -U compinit; compinit -u -D; source <(assay completion zsh)"},
        Shell{"fish",
              {"fish", "--no-config", "-i"},
              "xterm",
              "function fish_prompt; end; assay completion fish | source"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace assay::test
