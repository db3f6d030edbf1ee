#include "store/records/intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/utf8.h"
#include "store/records/artefacts.h"

namespace assay::store {
namespace {

constexpr std::size_t most_series = 21'000;
constexpr std::size_t most_values = 1'100'000;
constexpr std::size_t most_artefacts = 1'000;
constexpr std::size_t most_sentences = 20;
constexpr std::size_t shown_bytes = 60;

// A name for a sentence: short, without what controls a terminal.
std::string shown(std::string_view name) {
  std::string text(name.substr(0, shown_bytes));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name.size() > shown_bytes ? text + "…" : text;
}

std::string what_is_wrong_with_name(std::string_view name) {
  if (name.size() > longest_name) {
    return fmt::format("of {} bytes, more than {}", name.size(), longest_name);
  }
  for (std::size_t bytes; !name.empty(); name.remove_prefix(bytes)) {
    const auto first = static_cast<unsigned char>(name[0]);
    if (first == '\n' || first == '\r') return "with a line break";
    if (first < 0x20 || first == 0x7f) return "with a control character";
    bytes = utf8_sequence(name);
    if (bytes == 0) return "that is not UTF-8";
  }
  return {};
}

// A duration, a deviation and a count have no sign. "" where there is no such figure below zero.
std::string what_is_negative(const Series& series) {
  const auto negative = [](double figure) { return figure < 0; };
  const bool is_duration = series.metric == "time" || !series.clock.empty();
  if (is_duration && std::any_of(series.samples.begin(), series.samples.end(), negative)) {
    return fmt::format("has a negative time, {} s",
                       *std::find_if(series.samples.begin(), series.samples.end(), negative));
  }
  const std::set<std::string> of_times{"value", "mean", "median", "min", "max",
                                       "sum",   "p5",   "p95",    "q1",  "q3"};
  const std::set<std::string> unsigned_ones{"n", "std", "std_population", "iqr"};
  for (const auto& [name, figure] : series.statistics) {
    const bool has_no_sign =
        unsigned_ones.contains(name) || (is_duration && of_times.contains(name));
    if (has_no_sign && negative(figure)) {
      return fmt::format("has a negative {}, {}", name, figure);
    }
  }
  return {};
}

using SpanPlace = std::tuple<std::string, std::string, std::string, int>;  // pass, part, lane, rank

SpanPlace span_place(const Series& series) {
  return {series.pass, series.part, series.lane, series.rank};
}

// Keeps the pairs that are spans. "": all are.
std::string keep_good_spans(Series& starts, Series& ends) {
  std::size_t kept = 0;
  const std::size_t pairs = std::min(starts.samples.size(), ends.samples.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    const double start = starts.samples[i], end = ends.samples[i];
    if (!std::isfinite(start) || !std::isfinite(end) || end < start) continue;
    starts.samples[kept] = start;
    ends.samples[kept++] = end;
  }
  const std::size_t all = std::max(starts.samples.size(), ends.samples.size());
  starts.samples.resize(kept);
  ends.samples.resize(kept);
  if (kept == all) return {};
  return fmt::format(
      "{} of {} spans of '{}'{} are left out: a span has a beginning and a later end", all - kept,
      all, shown(starts.part), starts.lane.empty() ? "" : " in lane '" + shown(starts.lane) + "'");
}

std::string refused_artefact(const Artefact& artefact, int rank,
                             const std::set<std::pair<std::string, std::string>>& known,
                             std::size_t taken) {
  const std::string name = shown(artefact.name);
  if (taken >= most_artefacts) {
    return fmt::format("'{}' is left out: a case leaves at most {} files a rank", name,
                       most_artefacts);
  }
  if (!is_artefact_name(artefact.name)) {
    return fmt::format("'{}' is left out: the name of a file has letters, digits, '.', '-' and '_'",
                       name);
  }
  if (!is_artefact_file(artefact.file)) {
    return fmt::format("'{}' is left out: its file lies outside its folder", name);
  }
  if (artefact.rank != rank) {
    return fmt::format("'{}' is left out: rank {} names it as rank {}'s", name, rank,
                       artefact.rank);
  }
  if (known.contains({artefact.pass, artefact.name})) {
    return fmt::format("'{}' is left out: the pass has another file of that name", name);
  }
  if (!is_one_line(artefact.media_type)) {
    return fmt::format("'{}' is left out: its media type is not one line of text", name);
  }
  return {};
}

}  // namespace

bool is_one_line(std::string_view text) { return what_is_wrong_with_name(text).empty(); }

std::string what_is_wrong_with(const Series& series) {
  const std::pair<const char*, const std::string*> names[] = {{"pass", &series.pass},
                                                              {"metric", &series.metric},
                                                              {"part", &series.part},
                                                              {"lane", &series.lane},
                                                              {"unit", &series.unit}};
  for (const auto& [what, name] : names) {
    if (const std::string wrong = what_is_wrong_with_name(*name); !wrong.empty()) {
      return fmt::format("has a {} {}", what, wrong);
    }
  }
  for (const std::string& word : series.words) {
    if (const std::string wrong = what_is_wrong_with_name(word); !wrong.empty()) {
      return fmt::format("has a word {}", wrong);
    }
  }
  if (!series.words.empty() && !(series.samples.empty() && series.statistics.empty())) {
    return "has both words and numbers";
  }
  if (series.rank < 0) return fmt::format("is of rank {}", series.rank);
  return what_is_negative(series);
}

std::vector<std::string> drop_bad_spans(std::vector<Series>& all) {
  std::map<SpanPlace, Series*> ends;
  for (Series& series : all) {
    if (series.metric == span_end_metric) ends.try_emplace(span_place(series), &series);
  }
  std::vector<std::string> sentences;
  std::size_t more = 0;
  std::set<const Series*> paired;
  for (Series& series : all) {
    if (series.metric != span_start_metric) continue;
    const auto end = ends.find(span_place(series));
    Series none;
    const bool has_end = end != ends.end() && paired.insert(end->second).second;
    std::string sentence = keep_good_spans(series, has_end ? *end->second : none);
    if (sentence.empty()) continue;
    if (sentences.size() < most_sentences) {
      sentences.push_back(std::move(sentence));
    } else {
      ++more;
    }
  }
  const auto is_span = [](const Series& series) {
    return series.metric == span_start_metric || series.metric == span_end_metric;
  };
  for (Series& series : all) {
    if (series.metric == span_end_metric && !paired.contains(&series)) series.samples.clear();
  }
  std::erase_if(all, [&](const Series& series) {
    return is_span(series) && series.outcome == Outcome::ok && series.samples.empty() &&
           series.statistics.empty();
  });
  if (more > 0) sentences.push_back(fmt::format("and {} more like these", more));
  return sentences;
}

std::string SeriesIntake::refusal(const Series& series) const {
  if (const std::string wrong = what_is_wrong_with(series); !wrong.empty()) {
    return "is left out: it " + wrong;
  }
  if (series.rank != rank_) {
    return fmt::format("is left out: it is of rank {}, from rank {}", series.rank, rank_);
  }
  if (!series.clock.empty()) return {};
  if (series_ >= most_series) {
    return fmt::format("is left out, as later ones: a case keeps {} series a rank", most_series);
  }
  if (values_ + series.samples.size() + series.words.size() > most_values) {
    return fmt::format("is left out: a case keeps {} values a rank", most_values);
  }
  return {};
}

void SeriesIntake::take(Series series, std::vector<Series>& into) {
  const std::string wrong = refusal(series);
  if (wrong.empty()) {
    if (series.clock.empty()) {
      ++series_;
      values_ += series.samples.size() + series.words.size();
    }
    into.push_back(std::move(series));
    return;
  }
  const std::pair kind{shown(series.pass), shown(series.metric)};
  if (refused_.contains(kind)) return;
  if (refused_.size() >= most_sentences) {
    ++more_;
    return;
  }
  const std::string part = series.part.empty() ? "" : fmt::format(" of '{}'", shown(series.part));
  refused_[kind] = fmt::format("'{}'{} in {} {}", kind.second, part,
                               kind.first.empty() ? "no pass" : kind.first, wrong);
}

std::vector<std::string> SeriesIntake::problems() const {
  std::vector<std::string> sentences;
  for (const auto& [kind, sentence] : refused_) sentences.push_back(sentence);
  if (more_ > 0) sentences.push_back(fmt::format("and {} more series are left out", more_));
  return sentences;
}

std::vector<Artefact> sound_artefacts(std::vector<Artefact> artefacts, int rank,
                                      std::vector<std::string>& problems) {
  std::vector<Artefact> sound;
  std::set<std::pair<std::string, std::string>> names;  // with their passes
  std::size_t more = 0;
  for (Artefact& artefact : artefacts) {
    std::string refused = refused_artefact(artefact, rank, names, sound.size());
    if (refused.empty()) {
      names.insert({artefact.pass, artefact.name});
      sound.push_back(std::move(artefact));
    } else if (problems.size() < most_sentences) {
      problems.push_back(std::move(refused));
    } else {
      ++more;
    }
  }
  if (more > 0) problems.push_back(fmt::format("and {} more files are left out", more));
  return sound;
}

}  // namespace assay::store
