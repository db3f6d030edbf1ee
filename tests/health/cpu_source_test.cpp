#include "health/cpu_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "health/process_table.h"
#include "tree.h"

namespace assay::health {
namespace {

// A machine of four cores, of which process 100 may use 1 and 2.
class CpuSourceTest : public TreeTest {
 protected:
  CpuSourceTest() {
    write("proc/stat",
          "cpu  0 0 0 0 0 0 0 0 0 0\n"
          "cpu0 90000 0 0 0 0 0 0 0 0 0\n"
          "cpu1 1000 20 300 7000 60 4 6 50 999 9\n"
          "cpu2 2000 0 0 7000 0 0 0 0 0 0\n"
          "cpu3 90000 0 0 0 0 0 0 0 0 0\n"
          "intr 17 0 0\nctxt 5\nprocs_running 3\n");
    write("proc/loadavg", "1.25 0.50 0.10 3/200 12345\n");
    write("proc/cpuinfo",
          "processor\t: 0\ncpu MHz\t\t: 2400.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3100.0\n");
    write_process(100, 1, "assay", 1500, "101");
    write_process(101, 100, "worker", 500);
  }

  CpuSource source() { return CpuSource({root_, {1, 2}, 100}); }
  CpuReading read(Depth depth) {
    Reading reading;
    CpuSource cpus = source();
    cpus.read(depth, {}, reading);
    EXPECT_TRUE(reading.cpu);
    return reading.cpu.value_or(CpuReading());
  }
};

TEST_F(CpuSourceTest, CountsTheWorkOfTheCoresItMayUse) {
  ASSERT_EQ(::sysconf(_SC_CLK_TCK), 100);
  const CpuReading cpu = read(Depth::edge);
  // user, nice, system, irq and softirq of both: 1000 + 20 + 300 + 4 + 6 + 2000 hundredths.
  EXPECT_DOUBLE_EQ(cpu.busy_s.value(), 33.30);
  EXPECT_DOUBLE_EQ(cpu.stolen_s.value(), 0.5);
  EXPECT_DOUBLE_EQ(cpu.own_s.value(), 20.0);
  EXPECT_EQ(cpu.load, 1.25);
  EXPECT_EQ(cpu.runnable, 3);
}

TEST_F(CpuSourceTest, AGlanceReadsNothing) {
  Reading reading;
  CpuSource cpus = source();
  cpus.read(Depth::glance, {}, reading);
  EXPECT_FALSE(reading.cpu);
}

TEST_F(CpuSourceTest, FrequenciesComeFromTheKernelOrElseFromTheProcessor) {
  EXPECT_EQ(read(Depth::thorough).lowest_hz, 2400.5e6);
  EXPECT_EQ(read(Depth::thorough).highest_hz, 3100e6);
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1200000\n");
  write("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "3600000\n");
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(read(Depth::thorough).lowest_hz, 1.2e9);
  EXPECT_EQ(read(Depth::thorough).highest_hz, 3.6e9);
  EXPECT_EQ(source().governor(), "powersave");
}

// A case that ends before the next thorough look has them at both edges.
TEST_F(CpuSourceTest, TheEdgesOfACaseHaveFrequenciesAndHeatToo) {
  write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n");
  write("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "4\n");
  const CpuReading cpu = read(Depth::edge);
  EXPECT_EQ(cpu.highest_hz, 3100e6);
  EXPECT_EQ(cpu.thermal_events, 7);
}

TEST_F(CpuSourceTest, WhatTakesLongIsLeftToAThoroughReading) {
  // Reading so many files takes far longer than an edge may.
  std::vector<int> cores(20'000, 1);
  write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "1\n");
  CpuSource cpus({root_, std::move(cores), 100});
  const auto events = [&](Depth depth) {
    Reading reading;
    cpus.read(depth, {}, reading);
    return reading.cpu ? reading.cpu->thermal_events : std::nullopt;
  };
  EXPECT_EQ(events(Depth::thorough), 20'000);
  EXPECT_FALSE(events(Depth::edge));
  EXPECT_EQ(events(Depth::thorough), 20'000);
}

TEST_F(CpuSourceTest, ThermalEventsAreThoseOfItsCores) {
  EXPECT_FALSE(read(Depth::thorough).thermal_events);
  for (const int core : {0, 1, 2}) {
    const std::string folder =
        "sys/devices/system/cpu/cpu" + std::to_string(core) + "/thermal_throttle/";
    write(folder + "core_throttle_count", core == 0 ? "1000\n" : "3\n");
    write(folder + "package_throttle_count", "5\n");
  }
  EXPECT_EQ(read(Depth::thorough).thermal_events, 2 * (3 + 5));
}

TEST_F(CpuSourceTest, TheQuotaOfItsControlGroup) {
  EXPECT_FALSE(read(Depth::edge).quota_s);
  EXPECT_EQ(source().quota_cores(), 2);
  write("proc/100/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/cpu.stat",
        "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 1500000\n");
  write("sys/fs/cgroup/jobs/mine/cpu.max", "50000 100000\n");
  EXPECT_EQ(read(Depth::edge).quota_s, 1.5);
  EXPECT_EQ(source().quota_cores(), 0.5);
  write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(source().quota_cores(), 2);
}

TEST_F(CpuSourceTest, TheQuotaInsideAContainerAndOfTheOlderControlGroups) {
  write("proc/100/cgroup", "12:memory:/x\n4:cpu,cpuacct:/not/in/here\n");
  write("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 250000000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read(Depth::edge).quota_s, 0.25);
  EXPECT_EQ(source().quota_cores(), 1.5);
}

TEST_F(CpuSourceTest, AMachineWithoutProcSaysSo) {
  CpuSource nothing({root_ + "/empty", {0}, 100});
  EXPECT_THAT(nothing.problem(), ::testing::HasSubstr("cannot be read"));
  Reading reading;
  nothing.read(Depth::thorough, {}, reading);
  EXPECT_FALSE(reading.cpu);
}

TEST_F(CpuSourceTest, ThisMachineCanBeRead) {
  CpuSource here(CpuSource::here());
  ASSERT_EQ(here.problem(), "");
  Reading reading;
  here.read(Depth::thorough, {}, reading);
  ASSERT_TRUE(reading.cpu);
  EXPECT_GT(here.cores(), 0);
  EXPECT_GT(here.quota_cores(), 0);
}

class ProcessTableTest : public TreeTest {
 protected:
  ProcessTableTest() : table_(root_ + "/proc", 100) {
    write_process(100, 1, "assay", 100, "101 102");
    write_process(101, 100, "worker) S 1 (x", 200, "103");
    write_process(102, 100, "worker", 400);
    write_process(103, 101, "compiler", 800);
    write_process(200, 1, "stranger", 99999, "201");
    write_process(201, 200, "its child", 99999);
  }
  ProcessTable table_;
};

TEST_F(ProcessTableTest, DescendantsAreOurs) {
  EXPECT_TRUE(table_.is_ours(100));
  EXPECT_TRUE(table_.is_ours(103));
  EXPECT_FALSE(table_.is_ours(201));
  EXPECT_FALSE(table_.is_ours(1));
  EXPECT_FALSE(table_.is_ours(999));
  EXPECT_EQ(table_.name(103), "compiler");
  EXPECT_EQ(table_.name(999), "");
}

// Agents that a launch engine has started are nobody's descendants here.
TEST_F(ProcessTableTest, TheFamiliesOfGivenProcessesAreOursToo) {
  ProcessTable table(root_ + "/proc", 100, {200});
  EXPECT_TRUE(table.is_ours(103));
  EXPECT_TRUE(table.is_ours(201));
  EXPECT_FALSE(table.is_ours(1));
  EXPECT_TRUE(table.family().contains(201));
  EXPECT_DOUBLE_EQ(table.own_cpu_s(true).value(), 15 + 2 * 999.99);
}

TEST_F(ProcessTableTest, AddsUpTheTimeOfDescendants) {
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(true).value(), 15);
}

TEST_F(ProcessTableTest, AChildOfAnotherThreadIsFoundByAThoroughLookAndThenRemembered) {
  write_process(104, 102, "from a thread", 1600);
  write("proc/102/task/150/children", "104");
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(false).value(), 15);
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(true).value(), 31);
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(false).value(), 31);
}

TEST_F(ProcessTableTest, AnEndedChildIsInItsParentsTime) {
  ASSERT_DOUBLE_EQ(table_.own_cpu_s(true).value(), 15);
  remove_process(103);
  write_process(101, 100, "worker", 1000);
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(true).value(), 15);
  write_process(103, 200, "a stranger with its number", 99999);
  EXPECT_DOUBLE_EQ(table_.own_cpu_s(true).value(), 15);
}

TEST_F(ProcessTableTest, AKernelThatListsNoChildrenLeavesItOpen) {
  std::filesystem::remove(root_ + "/proc/100/task/100/children");
  EXPECT_FALSE(table_.own_cpu_s(true));
}

}  // namespace
}  // namespace assay::health
