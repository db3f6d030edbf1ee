#include "base/out_of_memory.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace assay {

namespace {

std::string_view between(std::string_view text, std::string_view before, std::string_view behind) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  const std::size_t end = text.find(behind);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

// "… Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.81 GiB of which 1.25 GiB is
// free. Including non-PyTorch memory, this process has 138.55 GiB memory in use."
std::optional<std::string> on_cuda(std::string_view message) {
  const auto asked = between(message, "Tried to allocate ", ". ");
  const auto total = between(message, "has a total capacity of ", " of which");
  const auto free = between(message, " of which ", " is free");
  if (asked.empty() || total.empty() || free.empty()) return std::nullopt;
  std::string words =
      fmt::format("CUDA out of memory: {} asked for, {} of {} free", asked, free, total);
  const auto own = between(message, "this process has ", " memory in use");
  if (!own.empty()) words += fmt::format(", {} held by this process", own);
  return words;
}

// "… DefaultCPUAllocator: can't allocate memory: you tried to allocate 1099511627776 bytes. …"
std::optional<std::string> on_the_host(std::string_view message) {
  const auto digits = between(message, "you tried to allocate ", " bytes");
  double bytes = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (digits.empty() || read.ec != std::errc()) return std::nullopt;
  return fmt::format("host memory ran out: {} asked for", human_size(bytes));
}

}  // namespace

bool means_out_of_memory(std::string_view message) {
  constexpr std::string_view signs[] = {"out of memory",          "host memory ran out",
                                        "can't allocate memory",  "CUBLAS_STATUS_ALLOC_FAILED",
                                        "Cannot allocate memory", "CUDNN_STATUS_ALLOC_FAILED"};
  for (const std::string_view sign : signs) {
    if (message.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::string> out_of_memory_in_words(std::string_view message) {
  if (auto words = on_cuda(message)) return words;
  return on_the_host(message);
}

}  // namespace assay
