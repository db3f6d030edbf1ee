#include "run/process/loading.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"

namespace assay::run {

namespace {

// Includes loading LibTorch from a cold disk.
constexpr double load_limit_s = 120;

}  // namespace

Result<Bounds> bounds_of_loading() {
  const auto memory = MemoryGuard::from_environment();
  if (!memory) return tl::unexpected(memory.error());
  Bounds bounds{std::chrono::duration<double>(load_limit_s), *memory};
  const char* given = std::getenv(load_timeout_variable);
  if (given == nullptr) return bounds;
  const auto seconds = parse_duration(given);
  if (!seconds) {
    return fail(ExitCode::bad_input,
                fmt::format("{}: {}", load_timeout_variable, seconds.error().text()));
  }
  bounds.time = std::chrono::duration<double>(*seconds);
  return bounds;
}

}  // namespace assay::run
