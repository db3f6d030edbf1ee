// observe: kernels where a step launches far more kernels than any model's.

#include <gtest/gtest.h>

#if ASSAY_WITH_CUDA

#include <ATen/cuda/Sleep.h>
#include <ATen/ops/ones.h>
#include <assay/observer.h>
#include <assay/range.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "gpu/device.h"
#include "measure/device.h"
#include "plugins/support.h"
#include "worker/record/recorder.h"

namespace assay {
namespace {

constexpr int launches = 1'000'000;
// On an H100 3.05 GB without operators: what LibTorch makes of a quarter of the launches.
constexpr double most_host_bytes = 4e9;
constexpr std::int64_t most_trace_bytes = std::int64_t{16} << 20;

class Flood final : public ObservedPassBoundary {
 public:
  explicit Flood(std::function<void()> launch) : launch_(std::move(launch)) {}

  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return cuda; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return 2; }
  Status build() noexcept override { return {Outcome::error, "not asked for"}; }
  Status step() noexcept override {
    return guarded([&] {
      const Range step("assay.step");
      for (int i = 0; i < launches; ++i) launch_();
      measure::synchronize(cuda);
    });
  }

 private:
  std::string pass_ = "step";
  std::function<void()> launch_;
};

// Bytes of a line of this process's status file, such as "VmRSS:".
double status_bytes(const std::string& line_name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kibibytes = 0;
    if (word == line_name && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

struct Seen {
  std::size_t kernels = 0;
  std::int64_t trace_bytes = 0;
  double grown_bytes = 0;  // of host memory, at most
};

Seen observe(std::function<void()> launch) {
  const PluginEntry& registered = test::entry("observer", "kernels", "kernels");
  PluginDescription description;
  throw_unless_ok(registered.describe(description));
  std::string folder = std::filesystem::temp_directory_path() / "assay-flood-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  worker::CaseRecorder recorder(0, folder, {.artefact_bytes = std::int64_t{64} << 20});
  recorder.begin("step", "the observer", description.workload.metrics);
  Flood flood(std::move(launch));
  std::ofstream("/proc/self/clear_refs") << 5;  // begins VmHWM anew
  const double before_bytes = status_bytes("VmRSS:");
  throw_unless_ok(test::make<ObserverBoundary>(registered)->observe(flood, recorder));
  Seen seen;
  seen.grown_bytes = status_bytes("VmHWM:") - before_bytes;
  for (const store::Series& series : recorder.take_series()) {
    seen.kernels += series.metric == "kernel_calls" ? 1 : 0;
  }
  for (const store::Artefact& file : recorder.artefacts()) {
    if (file.name != "trace.json.gz") continue;
    seen.trace_bytes = static_cast<std::int64_t>(
        std::filesystem::file_size(std::filesystem::path(folder) / file.file));
  }
  std::filesystem::remove_all(folder);
  return seen;
}

class KernelFlood : public testing::Test {
 protected:
  void SetUp() override {
    if (measure::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    measure::use_device(cuda);
  }
  static void expect_bounded(const Seen& seen) {
    EXPECT_GT(seen.kernels, 0u) << "what was seen until the limit is told";
    EXPECT_LT(seen.grown_bytes, most_host_bytes);
    EXPECT_GT(seen.trace_bytes, 0);
    EXPECT_LE(seen.trace_bytes, most_trace_bytes);
  }
};

TEST_F(KernelFlood, OfOperatorsStaysWithinTheLimits) {
  const at::Tensor x = at::ones({64}, at::device(cuda));
  expect_bounded(observe([&] { x.add_(1); }));
}

// What no operator launches, the limit on operators does not count.
TEST_F(KernelFlood, WithoutOperatorsStaysWithinTheLimits) {
  expect_bounded(observe([] { at::cuda::sleep(0); }));
}

}  // namespace
}  // namespace assay
#endif
