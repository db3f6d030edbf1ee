#include "report/spec/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <regex>

#include "base/text.h"
#include "report/spec/numbers.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

using Match = std::match_results<std::string_view::const_iterator>;

// Separates thousands in any locale of the machine.
struct Commas : std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

template <class... Arguments>
std::string with_separators(std::string_view pattern, const Arguments&... arguments) {
  static const std::locale commas(std::locale::classic(), new Commas);
  return fmt::format(commas, fmt::runtime(pattern), arguments...);
}

// Keeps trailing zeros: three digits of 1.1 are "1.10", of 216 "216".
std::string significant(double value, int digits) {
  if (std::isfinite(value) && std::abs(value) >= std::pow(10.0, digits)) {
    return fmt::format("{:.0f}", value);
  }
  std::array<char, 64> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%#.*g", digits, value);
  std::string text(buffer.data(), static_cast<std::size_t>(length));
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string scientific(const Format& format, double value, const std::string& unit) {
  const std::string text = fmt::format("{:.{}e}", value, format.digits);
  const std::size_t e = text.find("e-");
  if (e != std::string::npos && format.unit_place == Format::UnitPlace::plain) {
    return unit.empty() ? text : text + " " + unit;
  }
  if (e != std::string::npos) {
    const std::string power =
        fmt::format("{} \\cdot 10^{{{}}}", text.substr(0, e), std::atoi(text.c_str() + e + 1));
    switch (format.unit_place) {
      case Format::UnitPlace::inside:
        return fmt::format("${}{}$", power, unit);
      case Format::UnitPlace::text:
        return fmt::format("${}\\text{{{}}}$", power, unit);
      case Format::UnitPlace::after:
        return fmt::format("${}$ {}", power, unit);
      case Format::UnitPlace::bare:
      case Format::UnitPlace::plain:
        return fmt::format("${}$", power);
    }
  }
  const std::string digits = significant(value, format.digits + 1);
  return unit.empty() || format.unit_place == Format::UnitPlace::bare ? digits
                                                                      : digits + " " + unit;
}

// Chooses the prefix that brings the printed value into 1 … 1000.
std::string engineering(const Format& format, double value, const std::string& unit) {
  static constexpr std::string_view prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T", "P"};
  const auto print = [&](double scaled) {
    return format.kind == Format::Kind::si ? significant(scaled, format.digits)
                                           : fmt::format("{:.{}f}", scaled, format.digits);
  };
  int power = 0;
  const int largest = unit == "s" ? 0 : 5;
  if (value != 0 && std::isfinite(value)) {
    power = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3.0));
  }
  power = std::clamp(power, -3, largest);
  const auto scaled = [&](int p) {
    return p < 0 ? value * std::pow(1000.0, -p) : value / std::pow(1000.0, p);
  };
  std::string digits = print(scaled(power));
  if (std::abs(std::strtod(digits.c_str(), nullptr)) >= 1000 && power < largest) {
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
  return fmt::format("{:.{}f} {}", value, step == 0 ? 0 : format.digits, names[step]);
}

std::string rounded(double value, int decimals, bool beside_text) {
  const std::string fixed = fmt::format("{:.{}f}", value, decimals);
  return beside_text ? fixed : fmt::format("{:.6g}", std::strtod(fixed.c_str(), nullptr));
}

struct Name {
  std::string_view name;
  Format::Kind kind;
  int digits;
  int arguments;  // at most
};
constexpr Name named[] = {
    {"auto", Format::Kind::automatic, 6, 0},  {"g6", Format::Kind::general, 6, 1},
    {"g", Format::Kind::general, 6, 1},       {"sci", Format::Kind::scientific, 2, 2},
    {"si3", Format::Kind::si, 3, 1},          {"si", Format::Kind::si, 3, 1},
    {"eng", Format::Kind::engineering, 3, 1}, {"iec", Format::Kind::iec, 2, 1},
    {"repr", Format::Kind::repr, 6, 0},       {"thousands", Format::Kind::thousands, 6, 0},
    {"plain", Format::Kind::plain, 6, 0},
};
constexpr std::string_view unit_places[] = {"inside", "text", "after", "bare", "plain"};
constexpr int most_digits = 17;

// The index of the word; the number of words where it is none of them.
std::size_t place_in(const auto& words, std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(words, word) - std::begin(words));
}

std::optional<Format> named_format(std::string_view text) {
  // Repetitions are bounded: std::regex recurses on them.
  static const std::regex call(
      R"( {0,9}(\w{1,9}) {0,9}(?:\( {0,9}0{0,9}(\d{1,2}) {0,9}(?:, {0,9}(\w{1,9}) {0,9})?\))?)");
  Match match;
  if (!std::regex_match(text.begin(), text.end(), match, call)) return std::nullopt;
  const auto* name = std::ranges::find(named, match[1].str(), &Name::name);
  if (name == std::end(named)) return std::nullopt;
  Format format;
  format.kind = name->kind;
  format.digits = match[2].matched ? std::stoi(match[2]) : name->digits;
  const auto place = match[3].matched ? place_in(unit_places, match[3].str()) : 0;
  const int arguments = match[2].matched + match[3].matched;
  if (arguments > name->arguments || format.digits > most_digits ||
      place == std::size(unit_places)) {
    return std::nullopt;
  }
  format.unit_place = static_cast<Format::UnitPlace>(place);
  if (name->name == "g6" && arguments > 0) format.kind = Format::Kind::rounded;
  return format;
}

}  // namespace

std::string repr(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<FieldSpec> parse_field_spec(std::string_view text) {
  // The fill is one UTF-8 character; width and precision fit a line.
  static const std::regex grammar(
      R"((?:([^\x80-\xBF][\x80-\xBF]{0,3})?([<>^]))?([-+ ]?)(#?)(0?)(\d{0,4})(,?)(?:\.(\d{1,3}))?([feEgGd%s]?))");
  Match match;
  if (!std::regex_match(text.begin(), text.end(), match, grammar) ||
      (match[8].matched && std::stoi(match[8]) > 100)) {
    return fail(ExitCode::bad_input, fmt::format("'{}' is not a format specification", text),
                "write it as Python does: {:.3f}, {:<12}, {:>8.2f}, {:,.0f}");
  }
  FieldSpec spec;
  if (match[1].matched) spec.fill = match[1];
  if (match[2].matched) spec.align = *match[2].first;
  if (match[6].length() > 0) spec.width = std::stoi(match[6]);
  const char written = match[9].length() > 0 ? *match[9].first : 's';
  spec.group = match[7].length() > 0;
  spec.percent = written == '%';
  spec.shapes_number = spec.group || match[8].matched || written != 's';
  std::string type(1, written), flag = match[4];
  std::string precision = match[8].matched ? "." + match[8].str() : "";
  if (written == 's') type = precision.empty() ? "" : "g";
  if (written == 'd') precision = ".0";
  if (written == 'd' || written == '%') type = "f";
  if (type.empty() || written == 'd' || written == '%') flag.clear();
  // pad() applies the width, since it counts characters; zeros belong behind the sign.
  const int zeros = spec.width - (spec.percent ? 1 : 0);
  if (match[5].length() > 0 && !spec.align && zeros > 0) flag += fmt::format("0{}", zeros);
  spec.number =
      fmt::format("{{:{}{}{}{}{}}}", match[3].str(), flag, precision, spec.group ? "L" : "", type);
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
  std::string pattern = spec.number;
  // A grouped number has all its digits.
  if (pattern.ends_with("L}") && fmt::format("{}", value).find('e') != std::string::npos) {
    pattern.replace(pattern.size() - 2, 2, ".0Lf}");
  }
  const bool percent = spec.percent && std::isfinite(value);
  const double scaled = percent ? value * 100 : value;
  const std::string digits =
      spec.group ? with_separators(pattern, scaled) : fmt::format(fmt::runtime(pattern), scaled);
  return pad(percent ? digits + "%" : digits, spec, '>');
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names{"auto",      "g6",    "g(n)",  "g6(n)",  "repr",
                                              "sci(n)",    "si3",   "si(n)", "eng(n)", "iec",
                                              "thousands", "plain", "{:.3f}"};
  return names;
}

Result<Format> parse_format(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) {
    if (auto format = named_format(text)) return *format;
    return fail(ExitCode::bad_input, fmt::format("format '{}' does not exist", text),
                "known: " + join(format_names(), ", "));
  }
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
    case Format::Kind::automatic:
      return integral ? number_text(value) : figure_text(value);
    case Format::Kind::general:
      if (integral) return fmt::format("{:.0f}", value);
      return beside_text ? repr(value) : fmt::format("{:.{}g}", value, format.digits);
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
      return with_separators("{:.0Lf}", value);
    case Format::Kind::plain:
      return fmt::format("{}", value);
    case Format::Kind::pattern:
      return format.before + format_number(value, format.spec) + format.after;
  }
  return {};
}

bool looks_like_number(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ',');
  if (digits.find_first_not_of("0123456789+-.eE") != std::string::npos) return false;
  char* end = nullptr;
  std::strtod(digits.c_str(), &end);
  return end != digits.c_str() && *end == '\0';
}

}  // namespace assay::report
