#include "health/gpu_source.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_nvml/fake_nvml.h"
#include "tree.h"

namespace assay::health {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string folder = ASSAY_BUILD_DIR "/tests/fake_nvml/";
const std::string current = folder + "libnvidia-ml.so.1";
const std::string old = folder + "old/libnvidia-ml.so.1";

// Its processes: 100 is ours, 101 our child, 200 a stranger.
class GpuSourceTest : public TreeTest {
 protected:
  GpuSourceTest() : library_(::dlopen(current.c_str(), RTLD_NOW)) {
    write_process(1, 0, "init", 0);
    write_process(100, 1, "assay", 0, "101");
    write_process(101, 100, "a worker (rank 0)", 0);
    write_process(200, 1, "python", 0);
    driver() = FakeNvml();
  }
  ~GpuSourceTest() override { ::dlclose(library_); }

  FakeNvml& driver() {
    return *reinterpret_cast<FakeNvml* (*)()>(::dlsym(library_, "fake_nvml"))();
  }
  GpuSource source(const char* visible = nullptr) {
    return GpuSource({current, visible, ProcessTable(root_ + "/proc", 100)});
  }
  GpuReading read(GpuSource& source, Depth depth, int device = 0) {
    Reading reading;
    source.read(depth, {device}, reading);
    EXPECT_EQ(reading.gpus.size(), 1u);
    return reading.gpus.empty() ? GpuReading() : reading.gpus[0];
  }
  void sees_all_processes() {
    std::filesystem::create_directories(root_ + "/proc/100/ns");
    std::filesystem::create_symlink("pid:[4026531836]", root_ + "/proc/100/ns/pid");
  }

  void* library_;
};

TEST_F(GpuSourceTest, AMachineWithoutADriverSaysSo) {
  GpuSource none({"libnot-there.so.1", nullptr, ProcessTable()});
  EXPECT_EQ(none.problem(), "no NVIDIA driver (libnot-there.so.1 is not found)");
  EXPECT_TRUE(none.gpus().empty());
  Reading reading;
  none.read(Depth::thorough, {0}, reading);
  EXPECT_TRUE(reading.gpus.empty());
}

TEST_F(GpuSourceTest, ADriverThatDoesNotAnswerSaysSo) {
  driver().starts = false;
  EXPECT_THAT(source().problem(), HasSubstr("does not answer"));
  driver().starts = true;
  driver().gpus.clear();
  EXPECT_THAT(source().problem(), HasSubstr("sees no GPU"));
}

TEST_F(GpuSourceTest, ADriverIsLetGoOf) {
  { const GpuSource opened = source(); }
  EXPECT_EQ(driver().open, 0);
}

TEST_F(GpuSourceTest, FiguresComeInBaseUnits) {
  driver().gpus[0].reasons = clock_reason::power_cap;
  driver().gpus[0].held_by_power_ns = 2'500'000'000;
  GpuSource gpus = source();
  EXPECT_EQ(gpus.problem(), "");
  ASSERT_EQ(gpus.gpus().size(), 1u);
  EXPECT_EQ(gpus.gpus()[0].name, "Fake H200");
  EXPECT_EQ(gpus.gpus()[0].memory_bytes, std::int64_t{150} << 30);
  EXPECT_EQ(gpus.gpus()[0].compute_capability, "9.0");
  EXPECT_EQ(gpus.driver(), "580.1");
  EXPECT_EQ(gpus.power_limit_w(0), 700.0);

  const GpuReading gpu = read(gpus, Depth::thorough);
  EXPECT_EQ(gpu.sm_clock_hz, 1980e6);
  EXPECT_EQ(gpu.memory_clock_hz, 2619e6);
  EXPECT_EQ(gpu.temperature_c, 41.0);
  EXPECT_DOUBLE_EQ(*gpu.power_w, 512.345);
  EXPECT_EQ(gpu.utilisation, 0.87);
  EXPECT_EQ(gpu.clock_reasons, clock_reason::power_cap);
  EXPECT_EQ(gpu.energy_j, 1.0);
  EXPECT_EQ(gpu.held_by_power_s, 2.5);
  EXPECT_EQ(gpu.held_by_heat_s, 0.0);
}

TEST_F(GpuSourceTest, AGlanceLeavesOutWhatTakesLonger) {
  GpuSource gpus = source();
  const GpuReading glance = read(gpus, Depth::glance);
  EXPECT_TRUE(glance.power_w);
  EXPECT_FALSE(glance.energy_j);
  EXPECT_FALSE(glance.processes);
  const GpuReading edge = read(gpus, Depth::edge);
  EXPECT_TRUE(edge.energy_j);
  EXPECT_FALSE(edge.held_by_power_s);
  EXPECT_FALSE(edge.processes);
}

TEST_F(GpuSourceTest, AnOlderDriverGivesWhatItHas) {
  GpuSource gpus({old, nullptr, ProcessTable(root_ + "/proc", 100)});
  const GpuReading gpu = read(gpus, Depth::thorough);
  EXPECT_TRUE(gpu.sm_clock_hz);
  EXPECT_EQ(gpu.clock_reasons, 0u) << "under the name these reasons had before";
  EXPECT_FALSE(gpu.energy_j) << "it says that this GPU counts none";
  EXPECT_FALSE(gpu.utilisation);
  EXPECT_FALSE(gpu.processes);
}

TEST_F(GpuSourceTest, TellsOurProcessesFromOthers) {
  sees_all_processes();
  driver().gpus[0].processes = {{101, 0, 0, 0}, {200, 0, 0, 0}, {300, 0, 0, 0}};
  GpuSource gpus = source();
  const auto processes = read(gpus, Depth::thorough).processes.value();
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes[0].owner, GpuProcess::Owner::us);
  EXPECT_EQ(processes[1].owner, GpuProcess::Owner::others);
  EXPECT_EQ(processes[1].name, "python");
  EXPECT_EQ(processes[2].owner, GpuProcess::Owner::others) << "it has just ended, but was no child";
  EXPECT_EQ(processes[2].name, "/opt/driver/knows");
}

TEST_F(GpuSourceTest, ProcessesOfOtherContainersCannotBeToldFromOurs) {
  driver().gpus[0].processes = {{101, 0, 0, 0}, {200, 0, 0, 0}, {4711, 0, 0, 0}};
  GpuSource gpus = source();
  const auto processes = read(gpus, Depth::thorough).processes.value();
  EXPECT_EQ(processes[0].owner, GpuProcess::Owner::us);
  EXPECT_EQ(processes[1].owner, GpuProcess::Owner::others);
  EXPECT_EQ(processes[2].owner, GpuProcess::Owner::unknown);
}

TEST_F(GpuSourceTest, MoreProcessesThanExpectedAreAllListed) {
  for (unsigned pid = 1000; pid < 1100; ++pid) driver().gpus[0].processes.push_back({pid, 0, 0, 0});
  GpuSource gpus = source();
  EXPECT_EQ(read(gpus, Depth::thorough).processes.value().size(), 100u);
}

class VisibleGpus : public GpuSourceTest {
 protected:
  VisibleGpus() {
    driver().gpus.assign(3, FakeGpu());
    const char* names[] = {"zero", "one", "two"};
    const char* uuids[] = {"GPU-aaaa", "GPU-abbb", "GPU-cccc"};
    for (std::size_t i = 0; i < 3; ++i) {
      driver().gpus[i].name = names[i];
      driver().gpus[i].uuid = uuids[i];
      driver().gpus[i].celsius = static_cast<unsigned>(10 * i);
    }
  }
  std::vector<std::string> names(const char* visible) {
    const GpuSource shown = source(visible);
    std::vector<std::string> list;
    for (const Gpu& gpu : shown.gpus()) list.push_back(gpu.name);
    return list;
  }
};

TEST_F(VisibleGpus, AreThoseThatCudaShowsInItsOrder) {
  EXPECT_THAT(names(nullptr), ElementsAre("zero", "one", "two"));
  EXPECT_THAT(names("2,0"), ElementsAre("two", "zero"));
  EXPECT_THAT(names("GPU-c, GPU-aaaa"), ElementsAre("two", "zero"));
  EXPECT_THAT(names("1,-1,2"), ElementsAre("one")) << "up to the first that names none";
  EXPECT_THAT(names("7"), ElementsAre());
  EXPECT_THAT(names("GPU-a"), ElementsAre()) << "two begin like that";
  EXPECT_THAT(names("MIG-1"), ElementsAre("two")) << "the GPU it is a part of";
  EXPECT_THAT(names("MIG-2"), ElementsAre());
}

TEST_F(VisibleGpus, HiddenOnesAreNotRead) {
  GpuSource gpus = source("2");
  EXPECT_EQ(read(gpus, Depth::glance, 0).temperature_c, 20.0) << "number 0 is the driver's 2";
  Reading reading;
  gpus.read(Depth::glance, {1}, reading);
  EXPECT_TRUE(reading.gpus.empty());
}

TEST_F(VisibleGpus, AnEmptyListHidesAll) {
  EXPECT_EQ(source("").problem(), "CUDA_VISIBLE_DEVICES= hides every GPU of this machine");
}

}  // namespace
}  // namespace assay::health
