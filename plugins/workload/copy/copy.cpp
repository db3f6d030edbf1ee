#include <ATen/Parallel.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/randint.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "model/operation_program.h"
#include "model/random.h"

namespace assay {

namespace {

// Bytes a thread copies at a time; smaller pieces would not raise the bandwidth.
constexpr std::int64_t grain = 1 << 20;
constexpr std::int64_t compared_at_once = 32 << 20;

std::int64_t size_of(const CaseContext& context) {
  return integer_option(context.parameters, "size");
}

// Drawn as whole words, which takes an eighth of the time.
at::Tensor random_bytes(const CaseContext& context) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto size = size_of(context);
  const auto words = at::randint(-most, most, {(size + 7) / 8},
                                 model::seeded_generator(context.device, context.seed),
                                 at::TensorOptions().dtype(at::kLong).device(context.device));
  return words.view(at::kByte).narrow(0, 0, size);
}

class CopyProgram final : public Program {
 public:
  explicit CopyProgram(const CaseContext& context)
      : source_(random_bytes(context)),
        // Every byte differs from the source before the copy.
        target_(at::bitwise_not(source_)) {}

  void run(const std::string& pass) override {
    if (pass != "copy") throw std::invalid_argument("copy has no pass '" + pass + "'");
    if (source_.is_cpu()) {
      copy_by_all_threads();
    } else {
      target_.copy_(source_, /*non_blocking=*/true);
    }
  }

  std::vector<NamedTensor> outputs(const std::string&) override { return {{"target", target_}}; }

  std::vector<Count> counts(const std::string&) override {
    return {{"bytes", "", 2 * static_cast<double>(source_.numel())}};
  }

  std::vector<ProgramInput> inputs(const std::string&) override {
    return {{.name = "source", .tensor = source_}};
  }
  // Compares every byte, some at a time.
  Verification look(const std::string&, const Look&) override {
    std::int64_t wrong = 0;
    for (std::int64_t first = 0; first < source_.numel(); first += compared_at_once) {
      const auto count = std::min(compared_at_once, source_.numel() - first);
      const auto expected = source_.narrow(0, first, count);
      const auto found = target_.narrow(0, first, count);
      if (at::equal(found, expected)) continue;
      wrong += at::ne(found, expected).sum().item<std::int64_t>();
    }
    return {true, static_cast<double>(wrong) / static_cast<double>(source_.numel()), 0, "target"};
  }

  const at::Tensor& source() const { return source_; }

 private:
  void copy_by_all_threads() {
    const auto* from = source_.const_data_ptr<std::uint8_t>();
    auto* to = target_.mutable_data_ptr<std::uint8_t>();
    at::parallel_for(0, source_.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  }

  at::Tensor source_;  // [size], bytes
  at::Tensor target_;
};

class Copy final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    ParameterInfo size;
    size.name = "size";
    size.type = ParameterType::size;
    size.default_value = std::int64_t{64} << 20;
    size.description = "Bytes to copy.";
    size.unit = "byte";
    size.minimum = 1;
    size.maximum = static_cast<double>(std::int64_t{1} << 40);
    return {size};
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"copy"};
    info.default_passes = {"copy"};
    info.metrics = {
        {"bytes", "byte", Direction::neither, "Bytes that are read and written.", "2 * size"}};
    info.default_clock = "cuda_event";
    return info;
  }

  static std::string memory_estimate() { return "2 * size"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<CopyProgram>(context);
  }

  // The error is the share of bytes that differ.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    auto program = std::make_unique<CopyProgram>(context);
    const at::Tensor source = program->source();
    const auto outputs = reference::call_once(context, *program, pass);
    const auto wrong = at::ne(outputs.at(0).tensor, source).sum().item<std::int64_t>();
    return {true, static_cast<double>(wrong) / static_cast<double>(source.numel()), 0, "target"};
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::Copy, "copy",
             "A copy within the device's memory, on a CPU by all threads: the memory bandwidth "
             "that can be reached.")
