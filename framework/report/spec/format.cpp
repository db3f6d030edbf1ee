#include "report/spec/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

// Digits of `value` with trailing zeros kept: 1.1 to three digits is "1.10", 216 is "216".
std::string significant(double value, int digits) {
  if (std::isfinite(value) && std::abs(value) >= std::pow(10.0, digits)) {
    return fmt::format("{:.0f}", value);
  }
  std::array<char, 64> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%#.*g", digits, value);
  std::string text(buffer.data(), static_cast<std::size_t>(length));
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string with_separators(std::string digits) {
  std::size_t end = digits.find_first_of(".e");
  if (end == std::string::npos) end = digits.size();
  const std::size_t begin = digits.find_first_of("0123456789");
  for (std::size_t at = end; at > begin + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string scientific(const Format& format, double value, const std::string& unit) {
  if (value != 0 && std::isfinite(value) && std::abs(value) < 1) {
    const std::string text = fmt::format(fmt::runtime("{:.{}e}"), value, format.digits);
    const std::size_t e = text.find('e');
    const int exponent = std::atoi(text.c_str() + e + 1);
    if (exponent < 0) {
      const std::string power = fmt::format("{} \\cdot 10^{{{}}}", text.substr(0, e), exponent);
      switch (format.unit_place) {
        case Format::UnitPlace::inside:
          return fmt::format("${}{}$", power, unit);
        case Format::UnitPlace::text:
          return fmt::format("${}\\text{{{}}}$", power, unit);
        case Format::UnitPlace::after:
          return fmt::format("${}$ {}", power, unit);
        case Format::UnitPlace::bare:
          return fmt::format("${}$", power);
      }
    }
  }
  const std::string digits = significant(value, format.digits + 1);
  return unit.empty() || format.unit_place == Format::UnitPlace::bare ? digits
                                                                      : digits + " " + unit;
}

// Value and prefix that bring it into 1 … 1000, after rounding to what will be printed.
std::string engineering(const Format& format, double value, const std::string& unit) {
  static constexpr std::string_view prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P"};
  const auto print = [&](double scaled) {
    return format.kind == Format::Kind::si
               ? significant(scaled, format.digits)
               : fmt::format(fmt::runtime("{:.{}f}"), scaled, format.digits);
  };
  int power = 0;
  const bool seconds = unit == "s";
  if (value != 0 && std::isfinite(value)) {
    power = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3.0));
  }
  power = std::clamp(power, -3, seconds ? 0 : 5);
  const auto scaled = [&](int p) {
    return p < 0 ? value * std::pow(1000.0, -p) : value / std::pow(1000.0, p);
  };
  std::string digits = print(scaled(power));
  if (std::abs(std::strtod(digits.c_str(), nullptr)) >= 1000 && power < (seconds ? 0 : 5)) {
    digits = print(scaled(++power));
  }
  const std::string suffix = std::string(prefixes[power + 3]) + unit;
  return suffix.empty() ? digits : digits + " " + suffix;
}

std::string binary(const Format& format, double bytes) {
  static constexpr std::string_view names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t step = 0;
  double value = bytes;
  const double limit = 1024 - 0.5 * std::pow(10.0, -format.digits);
  while (std::abs(value) >= limit && step + 1 < std::size(names)) {
    value /= 1024;
    ++step;
  }
  return fmt::format(fmt::runtime("{:.{}f} {}"), value, step == 0 ? 0 : format.digits, names[step]);
}

std::string rounded(double value, int decimals, bool beside_text) {
  const std::string fixed = fmt::format(fmt::runtime("{:.{}f}"), value, decimals);
  return beside_text ? fixed : fmt::format("{:.6g}", std::strtod(fixed.c_str(), nullptr));
}

struct Call {
  std::string name;
  std::vector<std::string> arguments;
};

Call parse_call(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return {std::string(text), {}};
  Call call{std::string(trim(text.substr(0, open))), {}};
  for (const std::string& part : split(text.substr(open + 1, text.size() - open - 2), ',')) {
    call.arguments.emplace_back(trim(part));
  }
  return call;
}

// −1 where the text is not a small whole number.
int small_integer(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 17) {
    return -1;
  }
  return value;
}

std::optional<Format::UnitPlace> unit_place(const std::string& word) {
  if (word == "inside") return Format::UnitPlace::inside;
  if (word == "text") return Format::UnitPlace::text;
  if (word == "after") return Format::UnitPlace::after;
  if (word == "bare") return Format::UnitPlace::bare;
  return std::nullopt;
}

Result<Format> named_format(std::string_view text) {
  const auto refuse = [&] {
    return fail(ExitCode::bad_input, fmt::format("format '{}' does not exist", text),
                "known: " + join(format_names(), ", "));
  };
  const Call call = parse_call(text);
  Format format;
  const auto argument = [&](std::size_t i) {
    return i < call.arguments.size() ? call.arguments[i] : "";
  };
  const bool given = !call.arguments.empty();
  const int digits = given ? small_integer(argument(0)) : 0;
  if (digits < 0) return refuse();
  std::size_t allowed = 1;
  if (call.name == "g6" || call.name == "g") {
    format.kind = call.name == "g6" && given ? Format::Kind::rounded : Format::Kind::general;
    format.digits = given ? digits : 6;
  } else if (call.name == "sci") {
    format.kind = Format::Kind::scientific;
    format.digits = given ? digits : 2;
    allowed = 2;
    if (call.arguments.size() > 1) {
      const auto place = unit_place(argument(1));
      if (!place) return refuse();
      format.unit_place = *place;
    }
  } else if (call.name == "si" || call.name == "si3") {
    format.kind = Format::Kind::si;
    format.digits = given ? digits : 3;
  } else if (call.name == "eng") {
    format.kind = Format::Kind::engineering;
    format.digits = given ? digits : 3;
  } else if (call.name == "iec") {
    format.kind = Format::Kind::iec;
    format.digits = given ? digits : 2;
  } else {
    allowed = 0;
    if (call.name == "repr")
      format.kind = Format::Kind::repr;
    else if (call.name == "thousands")
      format.kind = Format::Kind::thousands;
    else if (call.name == "plain")
      format.kind = Format::Kind::plain;
    else
      return refuse();
  }
  if (call.arguments.size() > allowed) return refuse();
  return format;
}

}  // namespace

std::string repr(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<FieldSpec> parse_field_spec(std::string_view text) {
  FieldSpec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  std::size_t fill_bytes = 1;
  while (fill_bytes < text.size() &&
         (static_cast<unsigned char>(text[fill_bytes]) & 0xC0) == 0x80) {
    ++fill_bytes;
  }
  if (text.size() > fill_bytes && is_align(text[fill_bytes])) {
    spec.fill = std::string(text.substr(0, fill_bytes));
    spec.align = text[fill_bytes];
    at = fill_bytes + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    at = 1;
  }
  const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto number = [&](int& value) {
    value = 0;
    while (peek() >= '0' && peek() <= '9' && value < 1000) value = value * 10 + (text[at++] - '0');
  };
  if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = text[at++];
  if (peek() == '#') spec.alternate = (++at, true);
  if (peek() == '0') spec.zero = (++at, true);
  if (peek() >= '0' && peek() <= '9') number(spec.width);
  if (peek() == ',') spec.group = (++at, true);
  if (peek() == '.') {
    ++at;
    if (peek() < '0' || peek() > '9')
      at = text.size() + 1;
    else
      number(spec.precision);
  }
  if (at < text.size() && std::string_view("feEgGd%s").find(text[at]) != std::string_view::npos) {
    spec.type = text[at++];
  }
  if (at != text.size() || spec.precision > 100) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not a format specification", text),
                "write it as Python does: {:.3f}, {:<12}, {:>8.2f}, {:,.0f}");
  }
  return spec;
}

std::string pad(std::string_view text, const FieldSpec& spec, char default_align) {
  const std::size_t width = display_width(text);
  const std::size_t wanted = static_cast<std::size_t>(spec.width);
  if (width >= wanted) return std::string(text);
  const std::size_t missing = wanted - width;
  const char align = spec.align ? spec.align : default_align;
  const std::size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  std::string padded;
  for (std::size_t i = 0; i < left; ++i) padded += spec.fill;
  padded += text;
  for (std::size_t i = left; i < missing; ++i) padded += spec.fill;
  return padded;
}

std::string format_number(double value, const FieldSpec& spec) {
  const char type = spec.type == 's' ? '\0' : spec.type;
  std::string digits;
  if (!std::isfinite(value)) {
    digits = fmt::format("{}", value);
  } else if (type == '%') {
    digits =
        fmt::format(fmt::runtime("{:.{}f}%"), value * 100, spec.precision < 0 ? 6 : spec.precision);
  } else if (type == 'd') {
    digits = fmt::format("{:.0f}", value);
  } else if (type == 0 && spec.precision < 0) {
    const std::string text = fmt::format("{}", value);
    digits =
        spec.group && text.find('e') != std::string::npos ? fmt::format("{:.0f}", value) : text;
  } else {
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    const std::string pattern =
        fmt::format("{{:{}.{{}}{}}}", spec.alternate ? "#" : "", type ? type : 'g');
    digits = fmt::format(fmt::runtime(pattern), value, precision);
  }
  if (spec.group) digits = with_separators(digits);
  if (spec.sign != '-' && digits.front() != '-') digits.insert(0, 1, spec.sign);
  if (spec.zero && !spec.align) {
    const std::size_t at = digits.find_first_of("0123456789");
    while (display_width(digits) < static_cast<std::size_t>(spec.width)) digits.insert(at, "0");
  }
  return pad(digits, spec, '>');
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names{"g6",     "g(n)",      "g6(n)", "repr",
                                              "sci(n)", "si3",       "si(n)", "eng(n)",
                                              "iec",    "thousands", "plain", "{:.3f}"};
  return names;
}

Result<Format> parse_format(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) return named_format(text);
  const std::size_t close = text.find('}', open);
  if (close == std::string_view::npos || text.find('{', close) != std::string_view::npos ||
      (close > open + 1 && text[open + 1] != ':')) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not a format", text),
                "one {…} with a specification, such as {:.3f} or {:.1f}x");
  }
  Format format;
  format.kind = Format::Kind::pattern;
  format.before = std::string(text.substr(0, open));
  format.after = std::string(text.substr(close + 1));
  if (close > open + 1) {
    auto spec = parse_field_spec(text.substr(open + 2, close - open - 2));
    if (!spec) return tl::unexpected(spec.error());
    format.spec = *spec;
  }
  return format;
}

std::string apply(const Format& format, double value, bool integral, const std::string& unit,
                  bool beside_text) {
  const auto in = [&](std::string_view base) {
    return same_dimension(unit, base) ? convert(value, unit, base) : value;
  };
  switch (format.kind) {
    case Format::Kind::general:
      if (integral) return fmt::format("{:.0f}", value);
      return beside_text ? repr(value) : fmt::format(fmt::runtime("{:.{}g}"), value, format.digits);
    case Format::Kind::rounded:
      return rounded(value, format.digits, beside_text);
    case Format::Kind::repr:
      return repr(value);
    case Format::Kind::scientific:
      return same_dimension(unit, "s") ? scientific(format, in("s"), "s")
                                       : scientific(format, value, unit);
    case Format::Kind::si:
    case Format::Kind::engineering: {
      const std::string base = unit_of_data(unit).base;
      return engineering(format, convert(value, unit, base), base == "count" ? "" : base);
    }
    case Format::Kind::iec:
      return binary(format, in("byte"));
    case Format::Kind::thousands:
      return with_separators(fmt::format("{:.0f}", value));
    case Format::Kind::plain:
      return fmt::format("{}", value);
    case Format::Kind::pattern:
      return format.before + format_number(value, format.spec) + format.after;
  }
  return {};
}

bool looks_like_number(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',') digits += c;
  }
  if (digits.empty() || digits.find_first_not_of("0123456789+-.eE") != std::string::npos ||
      digits.find_first_of("0123456789") == std::string::npos) {
    return false;
  }
  char* end = nullptr;
  std::strtod(digits.c_str(), &end);
  return *end == '\0';
}

}  // namespace assay::report
