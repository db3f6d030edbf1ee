#include <assay/plugin.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "base/text.h"
#include "worker/process/launch_watch.h"

#if ASSAY_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

// Translates exceptions into outcomes, with the numbers that explain them.
namespace assay {

namespace {

// Cuts off the stack trace and the advice that LibTorch appends.
std::string first_line(std::string message) {
  const std::size_t end = message.find('\n');
  if (end != std::string::npos) message.resize(end);
  return message;
}

// " (1.50 GiB of 139.81 GiB free on the GPU)".
std::string free_on_the_gpu() {
#if ASSAY_WITH_CUDA
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    return fmt::format(" ({} of {} free on the GPU)", human_size(free), human_size(total));
  }
#endif
  return {};
}

Status out_of_memory(const std::string& message) {
  if (auto words = out_of_memory_in_words(message)) return {Outcome::oom, std::move(*words)};
  const bool on_gpu = message.find("CU") != std::string::npos;  // CUDA, CUBLAS, CUDNN
  return {Outcome::oom, first_line(message) + (on_gpu ? free_on_the_gpu() : "")};
}

bool may_be_a_launch(std::string_view message) {
  constexpr std::string_view signs[] = {"invalid argument", "too many resources",
                                        "out of resources", "invalid configuration"};
  return message.find("CUDA") != std::string_view::npos &&
         std::any_of(std::begin(signs), std::end(signs), [&](std::string_view sign) {
           return message.find(sign) != std::string_view::npos;
         });
}

// CUDA's message for a refused launch does not give the reason.
Status of_message(const std::string& message) {
  if (means_out_of_memory(message)) return out_of_memory(message);
  if (may_be_a_launch(message)) {
    if (auto cause = worker::take_launch_failure()) {
      return {cause->outcome, fmt::format("{} ({})", cause->reason, first_line(message))};
    }
  }
  return {Outcome::error, first_line(message)};
}

}  // namespace

Status status_of_current_exception() noexcept {
  try {
    try {
      throw;
    } catch (const PluginFailure& failure) {
      return failure.status();
    } catch (const Unsupported& unsupported) {
      return {Outcome::unsupported, unsupported.what()};
    } catch (const c10::OutOfMemoryError& error) {
      return out_of_memory(error.what_without_backtrace());
    } catch (const c10::Error& error) {
      return of_message(error.what_without_backtrace());
    } catch (const std::bad_alloc&) {
      return {Outcome::oom, "host memory ran out: the system gave none (std::bad_alloc)"};
    } catch (const std::exception& exception) {
      return of_message(exception.what());
    } catch (...) {
      return {Outcome::error, "something that is not a std::exception was thrown"};
    }
  } catch (...) {
    return {Outcome::oom, {}};
  }
}

}  // namespace assay
