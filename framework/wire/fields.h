#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "store/records/json_fields.h"

// Reading a message's fields. What these throw, parse_message() makes an Error of.
namespace assay::wire {

// Thrown and caught within this room: a field that is not what the message needs.
struct Malformed {
  std::string what;
};

// A whole number that an Integer holds. nlohmann's own conversion takes a fraction, true, and what
// is too large, which it cuts.
template <class Integer>
Integer integer_at(const nlohmann::json& message, const char* name) {
  const auto number = store::integer_from_json(message.at(name));
  if (!number || !std::in_range<Integer>(*number)) {
    throw Malformed{fmt::format("'{}' should be a whole number", name)};
  }
  return static_cast<Integer>(*number);
}

// Runs `read`, which gives a Result<Message>. An exception of a missing or wrong field becomes an
// Error that names the message.
template <class Read>
std::invoke_result_t<Read> parse_message(const char* type, Read&& read) {
  std::string what;
  try {
    return read();
  } catch (const nlohmann::json::exception& exception) {
    what = exception.what();
  } catch (const Malformed& malformed) {
    what = malformed.what;
  }
  return fail(ExitCode::machine_lacks,
              fmt::format("a '{}' message is not well formed: {}", type, what));
}

}  // namespace assay::wire
