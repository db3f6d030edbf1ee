#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <assay/observer.h>
#include <fmt/format.h>

#include "conformance/check.h"
#include "conformance/recording.h"
#include "measure/device.h"

namespace assay::conformance {

namespace {

constexpr int steps = 3;

// A pass of one matrix product.
class TrialPass final : public ObservedPassBoundary {
 public:
  TrialPass(const at::Device& device, bool fresh) : device_(device), fresh_(fresh) {}

  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return device_; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return conformance::steps; }

  Status build() noexcept override {
    return guarded([&] {
      if (!fresh_) throw std::logic_error("it builds a program without being fresh()");
      if (built_) throw std::logic_error("it builds a second program");
      built_ = true;
    });
  }

  Status step() noexcept override {
    return guarded([&] {
      if (fresh_ && !built_) throw std::logic_error("it is fresh() and builds no program");
      if (taken_ == steps()) throw std::logic_error("it asks for more steps than steps()");
      ++taken_;
      const at::Tensor a = at::ones({64, 64}, at::TensorOptions().device(device_));
      a.mm(a);
      measure::synchronize(device_);
    });
  }

  int taken() const { return taken_; }

 private:
  std::string pass_ = "forward";
  at::Device device_;
  bool fresh_;
  bool built_ = false;
  int taken_ = 0;
};

std::vector<MetricInfo> metrics_of(const Subject& subject) {
  PluginDescription description;
  throw_unless_ok(subject.entry().describe(description));
  return description.workload.metrics;
}

std::vector<std::string> observe(const Subject& subject) {
  const auto observer = subject.make<ObserverBoundary>();
  bool fresh = false;
  throw_unless_ok(observer->fresh(fresh));
  TrialPass pass(subject.device(), fresh);
  TrialRecorder trial("forward", "the observer", metrics_of(subject));
  throw_unless_ok(observer->observe(pass, trial.recorder()));
  if (pass.taken() == 0) throw std::logic_error("it observes no step");
  return trial.recorded();
}

CheckVerdict observes(const Subject& subject) {
  if (observe(subject).empty()) return {.complaint = "it records nothing"};
  return {};
}

}  // namespace

std::vector<Check> observer_checks(const Subject& subject) {
  return {
      {"description",
       "Its metrics are consistent.",
       {{"metrics()",
         [subject] { return CheckVerdict{.complaint = wrong_in_metrics(metrics_of(subject))}; }}}},
      {"observation",
       "It calls at least one step and records what it sees, of declared metrics.",
       {{"a pass of one matrix product", [subject] { return observes(subject); }}}},
      {"repeatable",
       "A second one can observe in the same process.",
       {{"observed twice",
         [subject] {
           observe(subject);
           return observes(subject);
         }}}},
  };
}

}  // namespace assay::conformance
