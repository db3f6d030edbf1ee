#include "run/cases/topology.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "health/fake_nvml/fake_nvml.h"
#include "health/tree.h"

namespace assay::run {
namespace {

using nlohmann::json;

const std::string driver_file = ASSAY_BUILD_DIR "/tests/fake_nvml/libnvidia-ml.so.1";

class TopologyTest : public health::TreeTest {
 protected:
  TopologyTest() : library_(::dlopen(driver_file.c_str(), RTLD_NOW)) { driver() = FakeNvml(); }
  ~TopologyTest() override { ::dlclose(library_); }

  FakeNvml& driver() {
    return *reinterpret_cast<FakeNvml* (*)()>(::dlsym(library_, "fake_nvml"))();
  }
  json probe(const std::string& library = driver_file) const {
    return probe_topology(health::GpuSource({library, nullptr, health::ProcessTable()}), root_);
  }

  void* library_;
};

TEST_F(TopologyTest, TellsCoresAndNetworksByNumaNode) {
  write("proc/self/status", "Name:\tassay\nCpus_allowed_list:\t0-3\n");
  write("sys/devices/system/node/node0/cpulist", "0-1\n");
  write("sys/devices/system/node/node1/cpulist", "2-3\n");
  write("sys/devices/system/node/possible", "0-1\n");
  write("sys/class/net/eth0/device/numa_node", "1\n");
  write("sys/class/net/eth0/speed", "25000\n");
  write("sys/class/net/lo/speed", "0\n");
  write("sys/class/net/wlan0/device/vendor", "x\n");
  write("sys/class/net/wlan0/speed", "-1\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  write("sys/class/infiniband/mlx5_0/device/numa_node", "0\n");
  const json topology = probe("libnot-there.so.1");
  EXPECT_EQ(topology["cores"], "0-3");
  EXPECT_EQ(topology["numa"], json({{"0", "0-1"}, {"1", "2-3"}}));
  const json networks = {{{"name", "eth0"}, {"megabits_per_s", 25000}, {"numa", 1}},
                         {{"name", "wlan0"}},
                         {{"name", "mlx5_0"}, {"rate", "400 Gb/sec (4X NDR)"}, {"numa", 0}}};
  EXPECT_EQ(topology["networks"], networks);
  EXPECT_EQ(topology["gpus"], json::array());
}

TEST_F(TopologyTest, TellsHowGpusReachEachOther) {
  driver().gpus = {{.pci_bus = 0x1b, .nvlinks = 18},
                   {.uuid = "GPU-bbbb", .pci_bus = 0xc3, .nvlinks = 18},
                   {.uuid = "GPU-cccc", .pci_bus = 0xd4}};
  write("sys/bus/pci/devices/0000:c3:00.0/numa_node", "1\n");
  write("sys/bus/pci/devices/0000:c3:00.0/local_cpulist", "2-3\n");
  const json gpus = probe()["gpus"];
  ASSERT_EQ(gpus.size(), 3u);
  const json first = {{"pci", "0000:1b:00.0"}, {"nvlinks", 18}, {"ways", {"", "NVLink", "SYS"}}};
  const json second = {{"pci", "0000:c3:00.0"},
                       {"nvlinks", 18},
                       {"numa", 1},
                       {"cores", "2-3"},
                       {"ways", {"NVLink", "", "SYS"}}};
  EXPECT_EQ(gpus[0], first);
  EXPECT_EQ(gpus[1], second);
  EXPECT_EQ(gpus[2]["nvlinks"], 0);
  EXPECT_EQ(gpus[2]["ways"], json({"SYS", "SYS", ""}));
}

TEST_F(TopologyTest, AnOlderDriverLeavesItsPartOut) {
  const json gpus = probe(ASSAY_BUILD_DIR "/tests/fake_nvml/old/libnvidia-ml.so.1")["gpus"];
  const json first = {{"nvlinks", 0}, {"ways", json::array({""})}};
  EXPECT_EQ(gpus.at(0), first);
}

}  // namespace
}  // namespace assay::run
