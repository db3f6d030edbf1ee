#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <assay/range.h>
#include <fmt/format.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace assay {

namespace {

// LibTorch's own NVTX calls; null in a build without CUDA.
const torch::profiler::impl::ProfilerStubs* nvtx() {
  static const auto* const stubs = [] {
    const auto* found = torch::profiler::impl::cudaStubs();
    return found->enabled() ? found : nullptr;
  }();
  return stubs;
}

}  // namespace

struct Range::Recorded {
  Recorded(at::StepCallbacks&& callbacks, const char* text)
      : name(text), function(std::move(callbacks)) {
    // The number of the next autograd node: nodes that are made within the range begin with it.
    const bool graph = at::GradMode::is_enabled();
    function.before(std::string_view(name),
                    graph ? static_cast<std::int64_t>(at::sequence_number::peek()) : -1);
  }

  std::string name;
  at::RecordFunction function;
};

void Range::begin(const char* name) noexcept {
  try {
    if (auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE)) {
      recorded_ = std::make_unique<Recorded>(std::move(*callbacks), name).release();
    }
    if (nvtx() != nullptr) {
      nvtx()->rangePush(name);
      pushed_ = true;
    }
  } catch (...) {
    // A step must not fail for the sake of its names.
  }
}

Range::Range(const char* name) noexcept { begin(name); }

Range::Range(const char* name, std::int64_t number) noexcept {
  const bool wanted = nvtx() != nullptr || at::hasCallbacks() || at::hasThreadLocalCallbacks();
  if (!wanted) return;
  std::array<char, 128> text{};
  fmt::format_to_n(text.data(), text.size() - 1, "{} {}", name, number);
  begin(text.data());
}

Range::~Range() {
  if (pushed_) nvtx()->rangePop();
  delete recorded_;
}

}  // namespace assay
