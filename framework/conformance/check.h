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

// What one case showed.
struct CheckVerdict {
  double error = 0;       // relative to the reference; 0 where nothing was measured
  double tolerance = 0;   // what the error may be; 0 where nothing was measured
  std::string complaint;  // what was wrong; "" where nothing was
  std::string note;       // worth knowing, though not wrong
};

struct Case {
  std::string text;  // its parameters in words
  std::function<CheckVerdict()>
      run;  // what it throws fails the case; Unsupported says it does not apply
};

struct Check {
  std::string name;         // "forward"
  std::string sentence;     // what holds where it passes
  std::vector<Case> cases;  // smallest first: the first that fails is the one reported
};

// The plugin that is checked.
class Subject {
 public:
  Subject(const PluginEntry& entry, Options options, at::Device device)
      : entry_(&entry), options_(std::move(options)), device_(device) {}

  const PluginEntry& entry() const { return *entry_; }
  const at::Device& device() const { return device_; }

  // A new one. Throws PluginFailure.
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

// One plugin for all cases of a suite, made when the first of them asks for it; copies share it.
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

// Every check of the plugin's kind. Calls nothing of the plugin yet. Throws Unsupported for a kind
// that has none.
std::vector<Check> suite(const Subject& subject);

// Runs the cases one after the other; `begins` is told of each before it starts. Throws nothing of
// what the cases throw.
wire::CheckResult run(const Check& check, const std::function<void(const std::string&)>& begins);

// The checks of each kind, one file a kind.
std::vector<Check> attention_checks(const Subject& subject);
std::vector<Check> norm_checks(const Subject& subject);
std::vector<Check> precision_checks(const Subject& subject);
std::vector<Check> compile_checks(const Subject& subject);
std::vector<Check> communication_checks(const Subject& subject);
std::vector<Check> workload_checks(const Subject& subject);

}  // namespace assay::conformance
