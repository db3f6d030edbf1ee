#include "run/external/external_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "run/external/external_series.h"
#include "store/records/json.h"

namespace assay::run {

namespace {

// Far more than a million samples.
constexpr std::size_t most_output_bytes = 256u << 20;
constexpr std::size_t most_line_bytes = 64u << 20;
constexpr std::size_t most_bad_lines = 100;

void discard(store::Series& series, const std::string& reason) {
  series.outcome = Outcome::error;
  series.reason = reason;
  series.samples.clear();
  series.statistics.clear();
}

}  // namespace

void ExternalAnswers::take(std::string_view output, const ActivityListener& listener) {
  output_ += output;
  printed_bytes_ += output.size();
  // The rest of the last call holds no newline and is not searched again.
  std::size_t start = 0;
  for (std::size_t newline;
       (newline = output_.find('\n', std::max(start, searched_bytes_))) != std::string::npos &&
       bad_lines_ <= most_bad_lines;) {
    take_line(std::string_view(output_).substr(start, newline - start), listener);
    start = newline + 1;
  }
  output_.erase(0, start);
  searched_bytes_ = output_.size();
  if (output_.size() > most_line_bytes) {
    cut_short(Outcome::error, "the program printed a line of more than 64 MiB");
  } else if (printed_bytes_ > most_output_bytes) {
    cut_short(Outcome::error, "the program printed more than 256 MiB");
  } else if (bad_lines_ > most_bad_lines) {
    cut_short_ = true;  // the first bad line is the reason
  }
}

void ExternalAnswers::take_line(std::string_view line, const ActivityListener& listener) {
  if (trim(line).empty()) return;
  const auto json = parse_json(line);
  if (!json || !json->is_object()) {
    ++bad_lines_;
    return refuse(fmt::format("the program printed a line that is not a JSON object: {}",
                              printable(line.substr(0, 120))));
  }
  if (json->contains("turn")) take_turn_wanted((*json)["turn"]);
  if (json->contains("series")) take_series((*json)["series"], listener);
  if (json->contains("check")) take_check((*json)["check"]);
  if (json->contains("looks")) take_looks((*json)["looks"]);
  if (json->contains("unchecked")) {
    const nlohmann::json& unchecked = (*json)["unchecked"];
    result_.unverified[string_at(unchecked, "pass")] = string_at(unchecked, "reason");
  }
  if (json->contains("done") && (*json)["done"].contains("versions")) {
    add(result_.end.facts,
        store::case_facts_from_json({{"versions", (*json)["done"]["versions"]}}));
  }
}

// A program whose request is refused would wait for ever: it is stopped.
void ExternalAnswers::take_turn_wanted(nlohmann::json json) {
  if (json.is_object()) json["ordinal"] = case_.request.ordinal;
  auto wanted = wire::turn_wanted_from_json(json);
  if (!takes_turns_) return break_off("the program asked for a turn in a case that has none");
  if (!wanted) return break_off(wanted.error().text());
  const auto& passes = case_.request.passes;
  const auto place = std::find(passes.begin(), passes.end(), wanted->pass) - passes.begin();
  const std::string asked = "the program asked for a turn of '" + printable(wanted->pass) + "'";
  if (wanted_) return break_off(asked + " before it was given the one it asked for");
  if (place == std::ssize(passes)) return break_off(asked + ", which is no pass of the case");
  if (place < pass_) return break_off(asked + ", which comes before the pass of its last turn");
  if (wanted->planned < 1) return break_off(asked + " without planning a sample");
  pass_ = place;
  wanted_ = std::move(*wanted);
}

void ExternalAnswers::given(const wire::Turn& turn) {
  if (!wanted_) return;
  last_given_ = {wanted_->pass, turn.samples};
  granted_[wanted_->pass] += turn.samples;
  wanted_.reset();
}

void ExternalAnswers::take_series(const nlohmann::json& json, const ActivityListener& listener) {
  auto series = store::series_from_json(json);
  if (!series) return refuse(series.error().text());
  if (auto checked = check_external_series(*series, case_.request); !checked) {
    return refuse(checked.error().text());
  }
  CaseEnd& end = result_.end;
  const auto [earlier, is_new] = places_.try_emplace(
      {series->pass, series->metric, series->part, series->lane}, end.series.size());
  if (!is_new) {  // neither of two answers counts
    const std::string reason = fmt::format("the program reported '{}' of '{}' more than once",
                                           series->metric, series->pass);
    if (earlier->second < end.series.size()) discard(end.series[earlier->second], reason);
    return refuse(reason);
  }
  if (series->outcome != Outcome::ok && end.outcome == Outcome::ok) {
    end.outcome = series->outcome;
    end.reason = series->reason;
  }
  listener(series->pass);
  intake_.take(std::move(*series), end.series);
  if (earlier->second == end.series.size()) places_.erase(earlier);  // beyond the limits
}

// The file must lie in the folder that this case was given.
void ExternalAnswers::take_check(const nlohmann::json& json) {
  const std::string pass = string_at(json, "pass");
  const std::string file = string_at(json, "file");
  if (folder_.empty() || file.empty() || file.find('/') != std::string::npos || file == "." ||
      file == "..") {
    return refuse(
        fmt::format("the program exchanged '{}', which is not the name of a file in "
                    "the folder it was given",
                    file));
  }
  result_.exchanged.push_back({pass, (folder_ / file).string()});
}

void ExternalAnswers::take_looks(const nlohmann::json& json) {
  auto looks = looks_from_json(json, case_.request);
  if (!looks) return refuse(looks.error().text());
  store::TimedLooksFacts& known = result_.end.facts.verification[string_at(json, "pass")].timed;
  if (!known.integrity.empty()) {
    return refuse("the program told of its looks at a pass more than once");
  }
  known = std::move(*looks);
}

void ExternalAnswers::cut_short(Outcome outcome, std::string reason) {
  cut_short_ = true;
  result_.end.outcome = outcome;
  result_.end.reason = std::move(reason);
}

void ExternalAnswers::refuse(std::string reason) {
  if (result_.end.outcome != Outcome::ok) return;
  result_.end.outcome = Outcome::error;
  result_.end.reason = std::move(reason);
}

void ExternalAnswers::break_off(std::string reason) {
  cut_short_ = true;
  refuse(std::move(reason));
}

void ExternalAnswers::require_every_pass() {
  for (const std::string& pass : case_.request.passes) {
    const bool untimed = std::ranges::count(case_.unclocked, pass) > 0;
    if (!untimed && result_.end.find(pass, "time") == nullptr) {
      refuse(fmt::format("the program ended without a time for pass '{}'", pass));
    }
  }
}

// Samples beyond the granted ones may have been taken in the turns of others.
void ExternalAnswers::require_granted_samples() {
  for (store::Series& series : result_.end.series) {
    if (series.metric != "time" || series.outcome != Outcome::ok) continue;
    const std::int64_t granted = granted_[series.pass];
    if (std::ssize(series.samples) <= granted) continue;
    const std::string reason =
        fmt::format("the program reported {} samples of pass '{}', its turns granted {}",
                    series.samples.size(), series.pass, granted);
    discard(series, reason);
    refuse(reason);
  }
}

void ExternalAnswers::add_sampling_facts() {
  for (const store::Series& series : result_.end.series) {
    if (series.metric != "time" || series.outcome != Outcome::ok) continue;
    result_.end.facts.timing[series.pass] = sampling_of(series, case_.request);
  }
}

ExternalEnd ExternalAnswers::conclude(std::string_view errors) {
  CaseEnd& end = result_.end;
  if (end.outcome == Outcome::ok && !end.interrupted) require_every_pass();
  if (takes_turns_) require_granted_samples();
  end.facts.left_out = intake_.problems();
  std::ranges::move(store::drop_bad_spans(end.series), std::back_inserter(end.facts.left_out));
  add_sampling_facts();
  if (!errors.empty()) end.facts.output = printable(errors);
  if (cut_short_) {
    result_.without_exchange = "no tensors were exchanged: " + end.reason;
  }
  return std::move(result_);
}

}  // namespace assay::run
