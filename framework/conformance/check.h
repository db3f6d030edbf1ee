#pragma once

// conformance holds what every plugin of a kind must do, one file a kind. It depends on reference
// and measure. Start here.

#include <assay/plugin.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/check_messages.h"

namespace assay::conformance {

struct CheckVerdict {
  double error = 0;       // relative to the reference; 0 where not measured
  double tolerance = 0;   // largest allowed error; 0 where not measured
  std::string complaint;  // what is wrong; "" where nothing is
  std::string note;       // worth knowing, not wrong
};

struct Case {
  std::string text;  // its parameters in words
  std::function<CheckVerdict()>
      run;  // an exception fails the case; Unsupported: the case does not apply
};

struct Check {
  std::string name;         // "forward"
  std::string sentence;     // what holds where the check passes
  std::vector<Case> cases;  // smallest first: the first failure is reported
};

class Subject {
 public:
  Subject(const PluginEntry& entry, Options options, at::Device device)
      : entry_(&entry), options_(std::move(options)), device_(device) {}

  const PluginEntry& entry() const { return *entry_; }
  const at::Device& device() const { return device_; }

  // Throws PluginFailure.
  template <class BoundaryOfKind>
  std::unique_ptr<BoundaryOfKind> make() const {
    std::unique_ptr<Boundary> made;
    throw_unless_ok(entry_->create(options_, made));
    return std::unique_ptr<BoundaryOfKind>(static_cast<BoundaryOfKind*>(made.release()));
  }

 private:
  const PluginEntry* entry_;
  Options options_;
  at::Device device_;
};

// One plugin shared by all cases of a suite, made on first use. Copies share it.
template <class BoundaryOfKind>
class Shared {
 public:
  explicit Shared(const Subject& subject) : held_(std::make_shared<Held>(subject)) {}

  const Subject& subject() const { return held_->subject; }
  const at::Device& device() const { return held_->subject.device(); }
  // Throws PluginFailure.
  BoundaryOfKind& get() const {
    if (!held_->plugin) held_->plugin = held_->subject.template make<BoundaryOfKind>();
    return *held_->plugin;
  }

 private:
  struct Held {
    explicit Held(const Subject& of) : subject(of) {}
    Subject subject;
    std::unique_ptr<BoundaryOfKind> plugin;
  };
  std::shared_ptr<Held> held_;
};

// All checks of the plugin's kind; calls nothing of the plugin yet. Throws Unsupported for a kind
// without a suite.
std::vector<Check> suite(const Subject& subject);

// Runs the cases in order and calls `begins` with each one's text before it starts. Catches what
// the cases throw.
wire::CheckResult run(const Check& check, const std::function<void(const std::string&)>& begins);

std::vector<Check> attention_checks(const Subject& subject);
std::vector<Check> norm_checks(const Subject& subject);
std::vector<Check> precision_checks(const Subject& subject);
std::vector<Check> compile_checks(const Subject& subject);
std::vector<Check> communication_checks(const Subject& subject);
std::vector<Check> workload_checks(const Subject& subject);
std::vector<Check> observer_checks(const Subject& subject);

}  // namespace assay::conformance
