#include <assay/plugin.h>
#include <fmt/format.h>

namespace assay {

namespace {

template <class T>
const T& option(const Options& options, std::string_view name) {
  const auto found = options.find(std::string(name));
  if (found == options.end()) {
    throw std::out_of_range(
        fmt::format("the plugin asks for an option '{}' it has not declared", name));
  }
  const T* held = std::get_if<T>(&found->second);
  if (held == nullptr) {
    throw std::invalid_argument(
        fmt::format("option '{}' is declared with another type than the plugin reads", name));
  }
  return *held;
}

bool means_out_of_memory(std::string_view message) {
  constexpr std::string_view signs[] = {"out of memory", "can't allocate memory",
                                        "CUBLAS_STATUS_ALLOC_FAILED", "Cannot allocate memory",
                                        "CUDNN_STATUS_ALLOC_FAILED"};
  for (const std::string_view sign : signs) {
    if (message.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// LibTorch appends a C++ stack trace and advice about environment variables: keep what it says
// first.
std::string first_line(std::string message) {
  const std::size_t end = message.find('\n');
  if (end != std::string::npos) message.resize(end);
  return message;
}

}  // namespace

std::int64_t integer_option(const Options& options, std::string_view name) {
  return option<std::int64_t>(options, name);
}
double real_option(const Options& options, std::string_view name) {
  return option<double>(options, name);
}
bool boolean_option(const Options& options, std::string_view name) {
  return option<bool>(options, name);
}
std::string text_option(const Options& options, std::string_view name) {
  return option<std::string>(options, name);
}

Status status_of_current_exception() noexcept {
  try {
    try {
      throw;
    } catch (const PluginFailure& failure) {
      return failure.status();
    } catch (const Unsupported& unsupported) {
      return {Outcome::unsupported, unsupported.what()};
    } catch (const c10::OutOfMemoryError& error) {
      return {Outcome::oom, first_line(error.what_without_backtrace())};
    } catch (const c10::Error& error) {
      const std::string message = error.what_without_backtrace();
      return {means_out_of_memory(message) ? Outcome::oom : Outcome::error, first_line(message)};
    } catch (const std::bad_alloc&) {
      return {Outcome::oom, "the host ran out of memory"};
    } catch (const std::exception& exception) {
      return {means_out_of_memory(exception.what()) ? Outcome::oom : Outcome::error,
              first_line(exception.what())};
    } catch (...) {
      return {Outcome::error, "something that is not a std::exception was thrown"};
    }
  } catch (...) {
    return {Outcome::oom, {}};
  }
}

}  // namespace assay
