#pragma once

#include <assay/workload.h>

namespace assay {

class ProgramBoundary : public Boundary {
 public:
  virtual Status before(const std::string& pass) noexcept = 0;
  virtual Status run(const std::string& pass) noexcept = 0;
  virtual Status calls_in_a_row(const std::string& pass, int& calls) noexcept = 0;
  virtual Status run_in_a_row(const std::string& pass, int calls) noexcept = 0;
  virtual Status outputs(const std::string& pass, std::vector<NamedTensor>& tensors) noexcept = 0;
  virtual Status counts(const std::string& pass, std::vector<Count>& counts) noexcept = 0;
  virtual Status record(const std::string& pass, RecorderBoundary& recorder) noexcept = 0;
  virtual Status inputs(const std::string& /*pass*/, std::vector<ProgramInput>&) noexcept {
    return {};
  }
  virtual Status renew(const std::string& /*pass*/, std::uint64_t /*number*/,
                       int& /*inputs*/) noexcept {
    return {};
  }
  virtual Status writes_outputs_anew(const std::string& /*pass*/, bool&) noexcept { return {}; }
  virtual Status expect_look(const std::string& /*pass*/) noexcept { return {}; }
  virtual Status look(const std::string& /*pass*/, const Look&, Verification&) noexcept {
    return {};
  }
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

class ProgramGuard final : public Guard<Program, ProgramBoundary> {
 public:
  using Guard::Guard;

  Status before(const std::string& pass) noexcept override {
    return guarded([&] { plugin_->before(pass); });
  }
  Status run(const std::string& pass) noexcept override {
    return guarded([&] { plugin_->run(pass); });
  }
  Status calls_in_a_row(const std::string& pass, int& calls) noexcept override {
    return guarded([&] { calls = plugin_->calls_in_a_row(pass); });
  }
  Status run_in_a_row(const std::string& pass, int calls) noexcept override {
    return guarded([&] { plugin_->run_in_a_row(pass, calls); });
  }
  Status outputs(const std::string& pass, std::vector<NamedTensor>& tensors) noexcept override {
    return guarded([&] { tensors = plugin_->outputs(pass); });
  }
  Status counts(const std::string& pass, std::vector<Count>& counts) noexcept override {
    return guarded([&] { counts = plugin_->counts(pass); });
  }
  Status record(const std::string& pass, RecorderBoundary& recorder) noexcept override {
    return guarded([&] {
      Recorder records(recorder);
      plugin_->record(pass, records);
    });
  }
  Status inputs(const std::string& pass, std::vector<ProgramInput>& inputs) noexcept override {
    return guarded([&] { inputs = plugin_->inputs(pass); });
  }
  Status renew(const std::string& pass, std::uint64_t number, int& inputs) noexcept override {
    return guarded([&] { inputs = plugin_->renew(pass, number); });
  }
  Status writes_outputs_anew(const std::string& pass, bool& anew) noexcept override {
    return guarded([&] { anew = plugin_->writes_outputs_anew(pass); });
  }
  Status expect_look(const std::string& pass) noexcept override {
    return guarded([&] { plugin_->expect_look(pass); });
  }
  Status look(const std::string& pass, const Look& look,
              Verification& verification) noexcept override {
    return guarded([&] { verification = plugin_->look(pass, look); });
  }
};

class WorkloadGuard final : public Guard<Workload, WorkloadBoundary> {
 public:
  using Guard::Guard;

  Status build(const CaseContext& context,
               std::unique_ptr<ProgramBoundary>& program) noexcept override {
    return guarded([&] { program = std::make_unique<ProgramGuard>(plugin_->build(context)); });
  }
  Status verify(const CaseContext& context, const std::string& pass,
                Verification& verification) noexcept override {
    return guarded([&] { verification = plugin_->verify(context, pass); });
  }
  Status verify_exchange(const CaseContext& context, const std::string& pass,
                         const Exchange& exchange, Verification& verification) noexcept override {
    return guarded([&] { verification = plugin_->verify_exchange(context, pass, exchange); });
  }
};

}  // namespace detail

inline void ProgramHandle::before(const std::string& pass) const {
  throw_unless_ok(boundary_->before(pass));
}
inline void ProgramHandle::run(const std::string& pass) const {
  throw_unless_ok(boundary_->run(pass));
}

inline std::unique_ptr<Boundary> guard_of(std::unique_ptr<Workload> plugin) {
  return std::make_unique<detail::WorkloadGuard>(std::move(plugin));
}

}  // namespace assay
