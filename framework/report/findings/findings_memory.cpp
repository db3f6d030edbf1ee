#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "report/document/markdown_table.h"
#include "report/findings/findings.h"
#include "report/spec/numbers.h"
#include "statistics/line_fit.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

constexpr double flat_within = 0.05;  // of the first peak
constexpr double least_growth = 2;    // of the context, for a sentence about it
constexpr std::size_t points_of_an_exponent = 3;
constexpr std::string_view half_precisions[] = {"bf16", "fp16"};
constexpr std::string_view full_precisions[] = {"fp32", "tf32"};
constexpr double cards_gb[] = {16, 24, 40, 80};
constexpr double left_for_context = 1073741824;  // bytes: context, libraries, fragments

std::string text_at(const Records& records, std::uint32_t record, std::string_view axis) {
  const auto found = records.axis(std::string(axis));
  return found ? to_text(records.value(record, *found)) : "";
}

// "forward, bf16".
std::string pass_and_precision(const Records& records, std::uint32_t record) {
  const std::string pass = text_at(records, record, "pass");
  const std::string precision = text_at(records, record, "precision");
  return escape_cell(precision.empty() ? pass : pass + ", " + precision);
}

std::string range_text(const std::vector<double>& values, const char* form) {
  const auto [least, most] = std::ranges::minmax(values);
  const std::string low = fmt::format(fmt::runtime(form), least);
  const std::string high = fmt::format(fmt::runtime(form), most);
  return low == high ? high : low + " to " + high;
}

// Peaks of one case over the context, ascending.
struct Growth {
  std::uint32_t record = 0;
  std::vector<std::pair<double, double>> points;  // seq_len, bytes
  double factor() const { return points.back().second / points.front().second; }
  double change() const { return std::abs(factor() - 1); }
  bool is_flat() const { return change() < flat_within; }
};

std::vector<Growth> growths(const Records& records, const std::vector<Figure>& peaks,
                            std::size_t axis) {
  std::map<Key, Growth> by_rest;
  for (const Figure& peak : peaks) {
    if (records.code(peak.record, axis) == 0 || !(peak.value > 0)) continue;
    Growth& growth = by_rest[rest_of(records, peak.record, {axis})];
    if (growth.points.empty()) growth.record = peak.record;
    growth.points.emplace_back(number_at(records, peak.record, axis), peak.value);
  }
  std::vector<Growth> kept;
  for (auto& [rest, growth] : by_rest) {
    std::ranges::sort(growth.points);
    const double longest = growth.points.back().first;
    if (longest >= least_growth * growth.points.front().first) kept.push_back(std::move(growth));
  }
  std::ranges::sort(kept, {}, &Growth::record);
  return kept;
}

double mean_of(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

// k of peak = a + b · seq_len^k with a ≥ 0 by least squares over k, so that what does not grow,
// such as parameters, does not hide how the rest does. Nothing of too few points, and where the
// best k lies at an end of those tried: such a peak has a bend, no exponent.
std::optional<double> exponent_of(const Growth& growth) {
  if (growth.points.size() < points_of_an_exponent) return std::nullopt;
  constexpr int first = 50, last = 300;  // hundredths of k
  int best = -1;
  double least = HUGE_VAL;
  for (int tried = first; tried <= last; ++tried) {
    const double k = tried / 100.0;
    std::vector<double> x, y;
    for (const auto& [seq_len, bytes] : growth.points) {
      x.push_back(std::pow(seq_len / growth.points.back().first, k));
      y.push_back(bytes / growth.points.back().second);
    }
    const statistics::LineFit line = statistics::fit_line(x, y);
    const double constant = mean_of(y) - line.slope * mean_of(x);
    if (constant < 0 || line.slope <= 0) continue;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      squares += std::pow(y[i] - constant - line.slope * x[i], 2);
    }
    if (squares < least) {
      least = squares;
      best = tried;
    }
  }
  return best <= first || best == last ? std::nullopt : std::optional(best / 100.0);
}

std::string growth_sentence(const Records& records, const std::vector<Growth>& all,
                            const std::string& subject, const std::string& axis) {
  std::vector<double> factors, exponents;
  for (const Growth& growth : all) {
    factors.push_back(growth.factor());
    if (growth.is_flat()) continue;
    if (const auto exponent = exponent_of(growth)) exponents.push_back(*exponent);
  }
  const auto& points = all.front().points;
  const std::string span = fmt::format("from {} to {}", number_text(points.front().first),
                                       number_text(points.back().first));
  const double most = std::ranges::max_element(all, {}, &Growth::change)->change();
  const std::string cases = all.size() == 1 ? "" : fmt::format(" in {} cases", all.size());
  if (most < flat_within) {
    return fmt::format("**memory over {}**: {}: flat, within {:.1f} % {}{}.", axis, subject,
                       100 * most, span, cases);
  }
  std::string text = fmt::format("**memory over {}**: {}: the peak is {} times as large {}{}", axis,
                                 subject, range_text(factors, "{:.2f}"), span, cases);
  const auto flat = std::ranges::count_if(all, &Growth::is_flat);
  if (flat > 0) text += fmt::format(", flat in {} of them", flat);
  if (!exponents.empty()) {
    text += fmt::format("; what grows does so as {}^{}", axis, range_text(exponents, "{:.2f}"));
  }
  const auto largest = std::ranges::max_element(all, {}, &Growth::factor);
  const auto seq_len = records.axis(axis);
  const std::string place = place_of(records, largest->record, {*seq_len, *records.axis("pass")});
  if (all.size() > 1 && !place.empty()) text += fmt::format("; most at {}", escape_cell(place));
  return text + ".";
}

// In the order in which their names first come.
template <class Value>
using Groups = std::vector<std::pair<std::string, std::vector<Value>>>;

template <class Value>
std::vector<Value>& group_of(Groups<Value>& groups, const std::string& name) {
  const auto named = [](const auto& group) { return group.first; };
  const auto found = std::ranges::find(groups, name, named);
  return found != groups.end() ? found->second
                               : groups.emplace_back(name, std::vector<Value>()).second;
}

std::vector<std::string> growth_sentences(const Records& records,
                                          const std::vector<Figure>& peaks) {
  const auto axis = records.axis("seq_len");
  if (!axis || !is_numeric_axis(records, *axis)) return {};
  Groups<Growth> subjects;
  for (Growth& growth : growths(records, peaks, *axis)) {
    const std::string subject = pass_and_precision(records, growth.record);
    group_of(subjects, subject).push_back(std::move(growth));
  }
  std::vector<std::string> sentences;
  for (const auto& [subject, all] : subjects) {
    sentences.push_back(growth_sentence(records, all, subject, "seq_len"));
  }
  return sentences;
}

// A case in 16 bit beside the one that differs in its precision alone.
struct Pair {
  std::string model;
  double full = 0, half = 0;
};

std::string by_model(const std::vector<Pair>& pairs) {
  Groups<double> models;
  for (const Pair& pair : pairs) {
    group_of(models, pair.model).push_back(pair.half / pair.full);
  }
  std::vector<std::string> parts;
  for (const auto& [model, ratios] : models) {
    const double saved = 100 * (1 - statistics::geometric_mean(ratios));
    parts.push_back(
        fmt::format("{}{:.1f} %", model.empty() ? "" : escape_cell(model) + " ", saved));
  }
  return join(parts, ", ");
}

// What autocast's copies of the weights add to inference, by model.
std::string copies_sentence(const std::string& subject, const std::vector<Pair>& pairs) {
  std::map<std::string, std::pair<double, double>> most;  // bytes, share
  std::vector<std::string> order;
  for (const Pair& pair : pairs) {
    if (pair.half <= pair.full) continue;
    const auto [at, added] = most.try_emplace(pair.model);
    if (added) order.push_back(pair.model);
    if (pair.half - pair.full > at->second.first) {
      at->second = {pair.half - pair.full, pair.half / pair.full - 1};
    }
  }
  if (order.empty()) return "";
  std::vector<std::string> parts;
  for (const std::string& model : order) {
    const auto& [bytes, share] = most.at(model);
    parts.push_back(fmt::format("{}{} ({:.0f} %)", model.empty() ? "" : escape_cell(model) + " ",
                                human_size(bytes), 100 * share));
  }
  return fmt::format(
      "**autocast's copies**: {} needs up to so much more, having no activations to "
      "save on: {}.",
      subject, join(parts, ", "));
}

std::vector<std::string> precision_sentences(const Records& records,
                                             const std::vector<Figure>& peaks) {
  const auto axis = records.axis("precision");
  if (!axis) return {};
  const auto is_one_of = [](const std::string& name, const auto& names) {
    return std::ranges::count(names, name) > 0;
  };
  std::map<Key, double> full;
  for (const Figure& peak : peaks) {
    if (is_one_of(text_at(records, peak.record, "precision"), full_precisions)) {
      full[rest_of(records, peak.record, {*axis})] = peak.value;
    }
  }
  Groups<Pair> subjects;
  for (const Figure& peak : peaks) {
    const std::string precision = text_at(records, peak.record, "precision");
    const auto other = full.find(rest_of(records, peak.record, {*axis}));
    if (!is_one_of(precision, half_precisions) || other == full.end()) continue;
    const std::string subject = pass_and_precision(records, peak.record);
    group_of(subjects, subject)
        .push_back({text_at(records, peak.record, "model"), other->second, peak.value});
  }
  std::vector<std::string> sentences;
  for (const auto& [subject, pairs] : subjects) {
    sentences.push_back(fmt::format(
        "**mixed precision**: {} saves of the peak, by size: {} (negative: needs more; {} pair{}).",
        subject, by_model(pairs), pairs.size(), pairs.size() == 1 ? "" : "s"));
    if (!subject.starts_with("inference")) continue;
    if (std::string copies = copies_sentence(subject, pairs); !copies.empty()) {
      sentences.push_back(std::move(copies));
    }
  }
  return sentences;
}

// The largest case that fits and the smallest that does not.
std::string card_sentence(const Records& records, const std::vector<Figure>& peaks,
                          const std::string& subject, double card_gb) {
  const double room = card_gb * 1e9 - left_for_context;
  const Figure *largest = nullptr, *smallest = nullptr;
  std::size_t fitting = 0;
  for (const Figure& peak : peaks) {
    if (peak.value <= room) {
      ++fitting;
      if (largest == nullptr || peak.value > largest->value) largest = &peak;
    } else if (smallest == nullptr || peak.value < smallest->value) {
      smallest = &peak;
    }
  }
  if (largest == nullptr || smallest == nullptr) return "";
  const auto described = [&](const Figure& peak) {
    std::vector<std::size_t> out = {*records.axis("pass")};
    if (const auto precision = records.axis("precision")) out.push_back(*precision);
    const std::string place = place_of(records, peak.record, out);
    return place.empty() ? human_size(peak.value)
                         : fmt::format("{} ({})", escape_cell(place), human_size(peak.value));
  };
  return fmt::format(
      "**a card of {:g} GB** would hold {} of {} cases of {}, with 1 GiB left for the context: up "
      "to {}, not {}.",
      card_gb, fitting, peaks.size(), subject, described(*largest), described(*smallest));
}

std::vector<std::string> card_sentences(const Records& records, const std::vector<Figure>& peaks) {
  Groups<Figure> subjects;
  for (const Figure& peak : peaks) {
    if (text_at(records, peak.record, "pass") != "train_step") continue;
    const std::string subject = pass_and_precision(records, peak.record);
    group_of(subjects, subject).push_back(peak);
  }
  std::vector<std::string> sentences;
  for (const auto& [subject, own] : subjects) {
    for (const double card_gb : cards_gb) {
      std::string sentence = card_sentence(records, own, subject, card_gb);
      if (!sentence.empty()) sentences.push_back(std::move(sentence));
    }
    const double most = std::ranges::max_element(own, {}, &Figure::value)->value;
    const auto card = std::ranges::find_if(
        cards_gb, [&](double gb) { return most <= gb * 1e9 - left_for_context; });
    if (card == std::end(cards_gb)) continue;
    sentences.push_back(
        fmt::format("**a card of {:g} GB** would hold every case of {}: at most {}.", *card,
                    subject, human_size(most)));
  }
  return sentences;
}

}  // namespace

std::vector<std::string> memory_findings(const Records& records, const RecordIds& ids) {
  const std::vector<Figure> peaks = figures_of(records, ids, "peak_memory", Centre::mean);
  std::vector<std::string> sentences = growth_sentences(records, peaks);
  std::ranges::move(precision_sentences(records, peaks), std::back_inserter(sentences));
  std::ranges::move(card_sentences(records, peaks), std::back_inserter(sentences));
  return sentences;
}

}  // namespace assay::report
