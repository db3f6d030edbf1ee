#include "measure/cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "measure/cache_size.h"
#include "measure/memory.h"

namespace assay::measure {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// A folder like /sys/devices/system/cpu.
class Cpus {
 public:
  Cpus()
      : folder_(std::filesystem::temp_directory_path() /
                ("assay_cpus_" + std::to_string(getpid()))) {}
  ~Cpus() { std::filesystem::remove_all(folder_); }

  void add_cache(int cpu, int index, const std::string& level, const std::string& type,
                 const std::string& size, const std::string& shared_by) const {
    const auto cache =
        folder_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "type") << type << "\n";
    std::ofstream(cache / "size") << size << "\n";
    std::ofstream(cache / "shared_cpu_list") << shared_by << "\n";
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

TEST(LastLevelCache, IsCountedOnceForAllCpusThatShareIt) {
  const Cpus cpus;
  for (int cpu = 0; cpu < 4; ++cpu) {
    cpus.add_cache(cpu, 0, "1", "Data", "32K", std::to_string(cpu));
    cpus.add_cache(cpu, 1, "1", "Instruction", "64K", std::to_string(cpu));
    cpus.add_cache(cpu, 2, "2", "Unified", "1024K", std::to_string(cpu));
    cpus.add_cache(cpu, 3, "3", "Unified", "16384K", cpu < 2 ? "0-1" : "2-3");
  }
  EXPECT_EQ(last_level_cache_bytes(cpus.folder(), {0, 1}), 16 * mebibyte);
  EXPECT_EQ(last_level_cache_bytes(cpus.folder(), {1, 2}), 32 * mebibyte);
}

TEST(LastLevelCache, IsTheSecondWhereThereIsNoThird) {
  const Cpus cpus;
  cpus.add_cache(0, 0, "1", "Data", "32K", "0");
  cpus.add_cache(0, 1, "2", "Unified", "2M", "0");
  EXPECT_EQ(last_level_cache_bytes(cpus.folder(), {0}), 2 * mebibyte);
}

TEST(LastLevelCache, IsNotToldByAMachineWithoutIt) {
  EXPECT_EQ(last_level_cache_bytes("/nowhere", {0, 1}), 0);
  EXPECT_GT(cache_bytes(c10::Device(c10::kCPU)), 0);
}

TEST(Rotation, PassesFourTimesTheCacheBetweenTwoCallsOfAProgram) {
  EXPECT_EQ(programs_to_rotate(10 * mebibyte, 50 * mebibyte, 1000000 * mebibyte), 21);
  EXPECT_EQ(programs_to_rotate(150 * mebibyte, 50 * mebibyte, 1000000 * mebibyte), 3);
}

TEST(Rotation, NeedsNoOtherProgramWhereOneIsLargerThanThat) {
  EXPECT_EQ(programs_to_rotate(200 * mebibyte, 50 * mebibyte, 1000 * mebibyte), 1);
  EXPECT_EQ(programs_to_rotate(199 * mebibyte, 50 * mebibyte, 1000 * mebibyte), 3);
}

TEST(Rotation, TakesHalfOfTheFreeMemoryAtMost) {
  EXPECT_EQ(programs_to_rotate(10 * mebibyte, 50 * mebibyte, 300 * mebibyte), 16);
  EXPECT_EQ(programs_to_rotate(10 * mebibyte, 50 * mebibyte, 150 * mebibyte), 0);
}

TEST(Rotation, CannotBeMadeOfProgramsThatHoldNextToNothing) {
  EXPECT_EQ(programs_to_rotate(0, 50 * mebibyte, 1000 * mebibyte), 0);
  EXPECT_EQ(programs_to_rotate(4096, 50 * mebibyte, 1000 * mebibyte), 0);
}

TEST(CacheFlush, HasABufferOfSeveralTimesTheCacheThatDoesNotCountAsTheCases) {
  const c10::Device cpu(c10::kCPU);
  const CpuMemoryScope counted;
  CacheFlush flush(cpu);
  flush.flush();
  EXPECT_GE(flush.bytes(), 2 * cache_bytes(cpu));
  EXPECT_EQ(allocated_bytes(cpu), 0);
}

}  // namespace
}  // namespace assay::measure
