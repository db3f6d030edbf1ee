#pragma once

#include <assay/communication.h>
#include <assay/ops.h>
#include <assay/precision.h>
#include <c10/core/Device.h>

namespace assay {

class CompileBoundary;

// What a workload is built from: the case, resolved.
struct CaseContext {
  Options parameters;                      // the workload's own parameters, defaults filled in
  std::map<std::string, Options> presets;  // "model" → the fields of the config file it names
  at::Device device = at::kCPU;
  Ops ops;  // attention and norm from the plugins, the rest textbook
  PrecisionPolicy precision;
  CommunicationBoundary* communication = nullptr;  // null when the workload does not use one
  CompileBoundary* compile =
      nullptr;  // for verify(), which checks a step as it is launched; null: eager
  Group group;
  std::uint64_t seed = 0;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A quantity counted rather than measured: parameters, FLOPs, bytes.
struct Count {
  std::string metric;
  std::string part;  // usually ""
  double value = 0;
};

// What is measured. Passes are "inference", "forward", "backward", "forward_backward",
// "train_step" and what a workload adds.
class Program {
 public:
  virtual ~Program() = default;

  // Before each call of run(), outside the timed region: the forward of a backward pass,
  // gradients set to none.
  virtual void before(const std::string& /*pass*/) {}
  // The timed region. Asynchronous work on the current stream is waited for by the clock.
  virtual void run(const std::string& pass) = 0;
  // What a pass left behind, for verification: "loss", "out", "grad.<name>".
  virtual std::vector<NamedTensor> outputs(const std::string& /*pass*/) { return {}; }
  virtual std::vector<Count> counts(const std::string& /*pass*/) { return {}; }
};

// The result of checking a program against a reference in higher precision.
struct Verification {
  bool checked = false;
  double error = 0;      // ‖out − reference‖ / ‖reference‖, the largest over all outputs
  double tolerance = 0;  // of this dtype
  std::string worst;     // the output with the largest error
};

// One call of a pass as a program in another process made it: the tensors it started from and what
// came out, on the case's device, under the names that Program::outputs() gives.
struct Exchange {
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
};

class Workload {
 public:
  static constexpr const char* kind = "workload";
  template <class T>
  class Guard;

  virtual ~Workload() = default;
  virtual std::unique_ptr<Program> build(const CaseContext& context) = 0;
  // Before timing, within affordable bounds; `pass` says how far it must go.
  virtual Verification verify(const CaseContext&, const std::string& /*pass*/) { return {}; }
  // The same for a call that another process made; `context` then lacks that program's kind. Throws
  // std::invalid_argument where the exchange lacks a tensor, or has one of another shape or dtype
  // than the case asks for.
  virtual Verification verify_exchange(const CaseContext&, const std::string& /*pass*/,
                                       const Exchange&) {
    return {};
  }
};

class ProgramBoundary : public Boundary {
 public:
  virtual Status before(const std::string& pass) noexcept = 0;
  virtual Status run(const std::string& pass) noexcept = 0;
  virtual Status outputs(const std::string& pass, std::vector<NamedTensor>& tensors) noexcept = 0;
  virtual Status counts(const std::string& pass, std::vector<Count>& counts) noexcept = 0;
};

class WorkloadBoundary : public Boundary {
 public:
  virtual Status build(const CaseContext& context,
                       std::unique_ptr<ProgramBoundary>& program) noexcept = 0;
  virtual Status verify(const CaseContext& context, const std::string& pass,
                        Verification& verification) noexcept = 0;
  virtual Status verify_exchange(const CaseContext& context, const std::string& pass,
                                 const Exchange& exchange, Verification& verification) noexcept = 0;
};

namespace detail {

class ProgramGuard final : public ProgramBoundary {
 public:
  explicit ProgramGuard(std::unique_ptr<Program> program) : program_(std::move(program)) {}

  Status before(const std::string& pass) noexcept override {
    return guarded([&] { program_->before(pass); });
  }
  Status run(const std::string& pass) noexcept override {
    return guarded([&] { program_->run(pass); });
  }
  Status outputs(const std::string& pass, std::vector<NamedTensor>& tensors) noexcept override {
    return guarded([&] { tensors = program_->outputs(pass); });
  }
  Status counts(const std::string& pass, std::vector<Count>& counts) noexcept override {
    return guarded([&] { counts = program_->counts(pass); });
  }

 private:
  std::unique_ptr<Program> program_;
};

}  // namespace detail

// A workload also has `static WorkloadInfo info()` and, when it has parameters, `options()`.
template <class T>
class Workload::Guard final : public WorkloadBoundary {
 public:
  template <class... Arguments>
  explicit Guard(const Arguments&... arguments) : plugin_(arguments...) {}

  Status build(const CaseContext& context,
               std::unique_ptr<ProgramBoundary>& program) noexcept override {
    return guarded(
        [&] { program = std::make_unique<detail::ProgramGuard>(plugin_.build(context)); });
  }
  Status verify(const CaseContext& context, const std::string& pass,
                Verification& verification) noexcept override {
    return guarded([&] { verification = plugin_.verify(context, pass); });
  }
  Status verify_exchange(const CaseContext& context, const std::string& pass,
                         const Exchange& exchange, Verification& verification) noexcept override {
    return guarded([&] { verification = plugin_.verify_exchange(context, pass, exchange); });
  }

 private:
  T plugin_;
};

}  // namespace assay
