#include "store/records/plain_parameters.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay::store {
namespace {

using nlohmann::json;

// The parser tells it what it reads, and stops at the first `false`.
class ParameterReader : public nlohmann::json_sax<json> {
 public:
  explicit ParameterReader(Parameters& into) : into_(into) {}

  bool start_object(std::size_t) override { return !std::exchange(inside_, true); }
  bool end_object() override { return true; }
  bool key(string_t& name) override {
    name_ = name;  // moved from, the parser's buffer would have to grow anew
    return true;
  }

  bool null() override { return add(Value{}); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(std::int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) override {
    constexpr auto largest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return number <= largest && add(static_cast<std::int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t&) override { return add(number); }
  bool string(string_t& text) override { return add(text); }

  bool binary(binary_t&) override { return false; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  bool add(Value value) {
    if (!inside_) return false;
    into_.insert_or_assign(into_.end(), name_, std::move(value));  // mostly sorted
    return true;
  }

  Parameters& into_;
  bool inside_ = false;
  std::string name_;
};

}  // namespace

std::optional<Parameters> plain_parameters(std::string_view json) {
  Parameters parameters;
  ParameterReader reader(parameters);
  if (!nlohmann::json::sax_parse(json, &reader)) return std::nullopt;
  return parameters;
}

}  // namespace assay::store
