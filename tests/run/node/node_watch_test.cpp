#include "run/node/node_watch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "health/fake_nvml/fake_nvml.h"
#include "run/process/process.h"

namespace assay::run {
namespace {

Process sleeper() { return std::move(*Process::start({.arguments = {"sleep", "1000"}})); }

class NodeWatchTest : public ::testing::Test {
 protected:
  // Of an agent that is no relative of the other processes.
  NodeWatchTest() {
    health::CpuSource::Settings cpus = health::CpuSource::here();
    cpus.self = own_.pid();
    health::GpuSource::Settings gpus;
    gpus.library = driver();
    gpus.processes = health::ProcessTable("/proc", own_.pid());
    watch_.emplace(std::make_shared<health::CpuSource>(cpus),
                   std::make_shared<health::GpuSource>(gpus));
  }
  ~NodeWatchTest() override { fake().gpus[0].processes.clear(); }

  FakeNvml& fake() { return *reinterpret_cast<FakeNvml* (*)()>(::dlsym(library_, "fake_nvml"))(); }
  void use_the_gpu(const Process& process) {
    fake().gpus[0].processes = {{static_cast<unsigned>(process.pid()), 1u << 30, ~0u, ~0u}};
  }
  static std::string driver() { return ASSAY_BUILD_DIR "/tests/fake_nvml/libnvidia-ml.so.1"; }
  static nlohmann::json call(int number, const Process& agent) {
    return {{"call", number}, {"devices", {0}}, {"agents", {agent.pid()}}};
  }
  nlohmann::json end(int number) {
    return watch_->end({{"watch", number}, {"devices", {0}}, {"ranks", 1}, {"processes", 1}});
  }
  static bool shared(const nlohmann::json& answer) {
    for (const auto& mark : answer.at("marks")) {
      if (mark["mark"] == "shared") return true;
    }
    return false;
  }

  void* library_ = ::dlopen(driver().c_str(), RTLD_NOW);
  const Process own_ = sleeper();
  std::optional<NodeWatch> watch_;
};

TEST_F(NodeWatchTest, TheAgentsOfALaterCallReplaceThoseOfTheFirst) {
  const Process first = sleeper();
  const Process second = sleeper();
  const Process third = sleeper();
  use_the_gpu(first);
  watch_->begin(call(1, first));
  EXPECT_FALSE(shared(end(1))) << "it is an agent";
  use_the_gpu(second);
  watch_->begin(call(2, second));
  EXPECT_FALSE(shared(end(2))) << "it has come in its place";
  watch_->begin(call(3, third));
  EXPECT_TRUE(shared(end(3))) << "it is an agent no more";
}

TEST_F(NodeWatchTest, AWatchIsEndedOnce) {
  watch_->begin(call(1, own_));
  watch_->begin(call(2, own_));
  watch_->drop(1);
  EXPECT_TRUE(end(1).contains("problem"));
  EXPECT_TRUE(end(2).contains("health"));
  EXPECT_TRUE(end(2).contains("problem"));
  EXPECT_TRUE(end(3).contains("problem"));
}

}  // namespace
}  // namespace assay::run
