#include "run/process/host_memory.h"
#include "sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace assay::run {
namespace {

using ::testing::HasSubstr;

TEST(HostMemoryTest, SaysWhatThereIs) {
  const auto memory = host_memory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->total, 0);
  EXPECT_LE(memory->available, memory->total);
  EXPECT_GT(resident_bytes(::getpid()), 1 << 20);
  EXPECT_EQ(resident_bytes(-1), 0);
}

class OutOfMemoryKillsTest : public ::testing::Test {
 protected:
  OutOfMemoryKillsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-kills-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    write("proc/vmstat", "oom_kill 5\n");
  }
  ~OutOfMemoryKillsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::filesystem::path root_;
};

TEST_F(OutOfMemoryKillsTest, AreThoseSinceItsBeginning) {
  OutOfMemoryKills kills(root_);
  EXPECT_FALSE(kills.any());
  write("proc/vmstat", "oom_kill 6\n");
  EXPECT_TRUE(kills.any());
  kills.begin();
  EXPECT_FALSE(kills.any());
}

TEST_F(OutOfMemoryKillsTest, AreThoseOfItsControlGroupWhereItCountsThem) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/memory.events", "low 0\noom 1\noom_kill 1\n");
  const OutOfMemoryKills kills(root_);
  write("proc/vmstat", "oom_kill 6\n");
  EXPECT_FALSE(kills.any()) << "somebody else's";
  write("sys/fs/cgroup/jobs/mine/memory.events", "low 0\noom 2\noom_kill 2\n");
  EXPECT_TRUE(kills.any());
}

TEST_F(OutOfMemoryKillsTest, AreFoundInAContainerAndInOlderControlGroups) {
  write("proc/self/cgroup", "4:memory:/not/in/here\n");
  write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const OutOfMemoryKills kills(root_);
  write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_TRUE(kills.any());
}

// A child process that does `work` and then waits for its parent.
class Idle {
 public:
  explicit Idle(const std::function<void()>& work) {
    int done[2];
    EXPECT_EQ(::pipe(done), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      EXPECT_EQ(::write(done[1], "x", 1), 1);
      while (true) ::pause();
    }
    ::close(done[1]);  // a dead child must not block the parent
    char ready = 0;
    EXPECT_EQ(::read(done[0], &ready, 1), 1);
    ::close(done[0]);
  }
  ~Idle() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

constexpr std::int64_t large = 256 << 20;  // bytes

void fill() {
  // Filled by the system: a sanitizer would track each byte written.
  void* filled = ::mmap(nullptr, large, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (filled == MAP_FAILED) ::_exit(1);
}

TEST(MemoryGuardTest, CountsWhatAProcessHasStarted) {
  const Idle parent([] { new Idle(fill); });
  const std::int64_t own = resident_bytes(parent.pid());
  EXPECT_LT(own, large);
  EXPECT_TRUE(MemoryGuard(own + large / 2).look({parent.pid()}).stop);
  EXPECT_FALSE(MemoryGuard(own * 2 + large * 2).look({parent.pid()}).stop);
}

TEST(MemoryGuardTest, CountsOnceWhatAForkShares) {
  const Idle parent([] {
    fill();
    new Idle([] {});
  });
  const std::int64_t own = resident_bytes(parent.pid());
  EXPECT_GE(own, large);
  EXPECT_FALSE(MemoryGuard(own + large / 2).look({parent.pid()}).stop);
  EXPECT_TRUE(MemoryGuard(own / 2).look({parent.pid()}).stop);
}

// A short case has given its memory back before the next look.
TEST(MemoryGuardTest, LooksBackAtWhatWasHeldForAMoment) {
  const Idle process([] {
    void* filled = ::mmap(nullptr, large, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (filled == MAP_FAILED) ::_exit(1);
    ::munmap(filled, large);
  });
  const MemoryGuard guard(resident_bytes(process.pid()) + large / 2);
  EXPECT_FALSE(guard.look({process.pid()}).stop);
  EXPECT_TRUE(guard.look_back({process.pid()}).stop);
  EXPECT_FALSE(MemoryGuard(std::nullopt).look_back({process.pid()}).stop);
  guard.begin({process.pid()});  // the next case answers for its own memory alone
  EXPECT_FALSE(guard.look_back({process.pid()}).stop);
}

TEST(MemoryGuardTest, StopsBeyondTheLimitAndNamesBothAndTheLargest) {
  const MemoryGuard guard(3 * gib);
  EXPECT_FALSE(guard.judge({gib, gib}, HostMemory{64 * gib, 50 * gib}).stop);
  const auto look = guard.judge({gib, 3 * gib}, HostMemory{64 * gib, 50 * gib});
  ASSERT_TRUE(look.stop);
  EXPECT_THAT(*look.stop, HasSubstr("host memory ran out: 4.00 GiB in use"));
  EXPECT_THAT(*look.stop, HasSubstr("is 3.00 GiB"));
  EXPECT_EQ(look.largest, 1u);
}

TEST(MemoryGuardTest, StopsBeforeTheMachineSwaps) {
  const MemoryGuard guard(std::nullopt);
  EXPECT_FALSE(guard.judge({40 * gib}, HostMemory{64 * gib, 2 * gib}).stop);
  const auto look = guard.judge({40 * gib}, HostMemory{64 * gib, gib / 2});
  ASSERT_TRUE(look.stop);
  EXPECT_THAT(*look.stop, HasSubstr("40.00 GiB in use, 512.00 MiB of 64.00 GiB left"));
}

TEST(MemoryGuardTest, ASmallWorkerIsNotStoppedForWhatOthersHold) {
  EXPECT_FALSE(MemoryGuard(std::nullopt).judge({gib}, HostMemory{64 * gib, 1 << 20}).stop);
}

TEST(MemoryGuardTest, LooksSoonerWhereLessIsLeft) {
  const MemoryGuard guard(16 * gib);
  const auto after = [&](std::int64_t held) {
    return guard.judge({held}, HostMemory{640 * gib, 600 * gib}).next_ms;
  };
  EXPECT_EQ(after(gib), 500);
  EXPECT_LT(after(14 * gib), 200);
  EXPECT_EQ(after(16 * gib), 20);
}

TEST(MemoryGuardTest, TakesItsLimitFromTheEnvironment) {
  const auto guard = [](const char* limit) {
    ::setenv(memory_limit_variable, limit, 1);
    auto made = MemoryGuard::from_environment();
    ::unsetenv(memory_limit_variable);
    return made;
  };
  const auto stops = [&](const char* limit) {
    return guard(limit).value().judge({2 * gib}, std::nullopt).stop.has_value();
  };
  EXPECT_TRUE(stops("1 GiB"));
  EXPECT_TRUE(stops("1073741824"));
  EXPECT_FALSE(stops("3 GiB"));
  EXPECT_FALSE(stops(""));
  for (const char* nonsense : {"nonsense", "8 gigs", "-1", "0", "0 GiB", "8 GiB or so", " "}) {
    const auto refused = guard(nonsense);
    ASSERT_FALSE(refused) << nonsense;
    EXPECT_EQ(refused.error().exit_code, ExitCode::bad_input);
    EXPECT_THAT(refused.error().text(), HasSubstr(std::string("ASSAY_HOST_MEMORY_LIMIT: '") +
                                                  nonsense + "' is not a memory limit"));
    EXPECT_THAT(refused.error().text(), HasSubstr("such as 8 GiB"));
  }
}

}  // namespace
}  // namespace assay::run
