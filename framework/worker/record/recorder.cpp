#include "worker/record/recorder.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/json.h"
#include "base/text.h"
#include "measure/host_time.h"
#include "store/records/artefacts.h"
#include "store/records/intake.h"

namespace assay::worker {

namespace {

[[noreturn]] void refuse(std::string reason) {
  throw PluginFailure({Outcome::error, std::move(reason)});
}

void check_text(std::string_view what, std::string_view text) {
  if (text.size() > store::longest_name) {
    refuse(fmt::format("{} of {} bytes is recorded; at most {} are taken: '{}…'", what, text.size(),
                       store::longest_name, valid_utf8(text.substr(0, 60))));
  }
  if (!store::is_one_line(text)) {
    refuse(
        fmt::format("{} is recorded that is not one line of UTF-8: '{}'", what, valid_utf8(text)));
  }
}

void check_finite(std::string_view what, std::string_view part, double value) {
  if (std::isfinite(value)) return;
  refuse(fmt::format("{}{}{} is recorded as {}, which is no number that can be shown", what,
                     part.empty() ? "" : " of ", part, value));
}

void check_file_name(std::string_view name) {
  const bool fits = store::is_artefact_name(name) && name.size() <= 128 && name.front() != '.';
  if (!fits) {
    refuse(fmt::format("an artefact cannot be called '{}': use letters, digits, '.', '-' and '_'",
                       valid_utf8(name.substr(0, 200))));
  }
}

}  // namespace

void CaseRecorder::begin(std::string pass, std::string of, const std::vector<MetricInfo>& metrics) {
  if (pass != pass_) ++pass_number_;
  pass_ = std::move(pass);
  of_ = std::move(of);
  metrics_.clear();
  for (const MetricInfo& metric : metrics) metrics_.emplace(metric.name, metric);
}

std::vector<store::Series> CaseRecorder::take_series() {
  places_.clear();
  return std::exchange(series_, {});
}

const MetricInfo& CaseRecorder::declared(std::string_view metric, MetricKind kind) const {
  const auto found = metrics_.find(metric);
  if (found == metrics_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, info] : metrics_) known.push_back(name);
    refuse(fmt::format("{} records the metric '{}' without declaring it{}", of_,
                       valid_utf8(metric.substr(0, 200)), suggestion(std::string(metric), known)));
  }
  if (found->second.kind != kind) {
    refuse(fmt::format("{} declares the metric '{}' as {} and records {}", of_, metric,
                       kind == MetricKind::text ? "numbers" : "text",
                       kind == MetricKind::text ? "text" : "numbers"));
  }
  return found->second;
}

void CaseRecorder::count(std::size_t values) {
  if (values_ + values > limits_.values) {
    refuse(
        fmt::format("the case records more than {} values; the rest is not kept", limits_.values));
  }
  values_ += values;
}

store::Series& CaseRecorder::series_of(std::string_view metric, std::string_view part,
                                       std::string_view lane) {
  std::string place;
  place.reserve(metric.size() + part.size() + lane.size() + 2);
  place.append(metric).append(1, '\n').append(part).append(1, '\n').append(lane);
  const auto found = places_.find(place);
  if (found != places_.end()) return series_[found->second];
  check_text("a part", part);
  check_text("a lane", lane);
  if (series_count_ == limits_.series) {
    refuse(
        fmt::format("the case records more than {} series, such as '{}' of '{}'; the rest is "
                    "not kept: sum up parts",
                    limits_.series, metric, part));
  }
  ++series_count_;
  places_.emplace(std::move(place), series_.size());
  store::Series series;
  series.pass = pass_;
  series.metric = metric;
  series.part = part;
  series.lane = lane;
  return series_.emplace_back(std::move(series));
}

Status CaseRecorder::samples(std::string_view metric, std::string_view part,
                             std::span<const double> values) noexcept {
  return guarded([&] {
    const MetricInfo& info = declared(metric, MetricKind::number);
    if (metric == "time" && part.empty()) {
      refuse(
          fmt::format("{} records 'time' of the whole pass, which only assay takes: name a "
                      "part, or declare a metric of its own",
                      of_));
    }
    for (const double value : values) check_finite(metric, part, value);
    count(values.size());
    store::Series& series = series_of(metric, part, "");
    series.unit = info.unit;
    series.samples.insert(series.samples.end(), values.begin(), values.end());
  });
}

Status CaseRecorder::word(std::string_view metric, std::string_view part,
                          std::string_view word) noexcept {
  return guarded([&] {
    declared(metric, MetricKind::text);
    check_text("a word", word);
    count(1);
    series_of(metric, part, "").words.emplace_back(word);
  });
}

Status CaseRecorder::span(std::string_view part, std::string_view lane, double start_s,
                          double duration_s) noexcept {
  return guarded([&] {
    check_finite("the start of a span", part, start_s);
    check_finite("the duration of a span", part, duration_s);
    if (duration_s < 0) {
      refuse(fmt::format("a span of '{}' ends {:.3g} s before it begins", valid_utf8(part),
                         -duration_s));
    }
    count(1);
    const auto add = [&](std::string_view metric, double value) {
      store::Series& series = series_of(metric, part, lane);
      series.unit = "s";
      series.samples.push_back(value);
    };
    add(store::span_start_metric, start_s);
    add(store::span_end_metric, start_s + duration_s);
  });
}

double CaseRecorder::now_s() const noexcept { return measure::host_now_s() - begin_s_; }

std::filesystem::path CaseRecorder::add_artefact(std::string_view name,
                                                 std::string_view media_type) {
  check_file_name(name);
  check_text("a media type", media_type);
  if (folder_.empty()) refuse(fmt::format("no file can be left here, and {} leaves one", of_));
  const bool taken = std::ranges::any_of(artefacts_, [&](const store::Artefact& other) {
    return other.pass == pass_ && other.name == name;
  });
  if (taken) refuse(fmt::format("two artefacts of {} are called '{}'", pass_, name));
  store::Artefact artefact;
  artefact.pass = pass_;
  artefact.name = name;
  artefact.file = fmt::format("{}/{}", pass_number_, name);
  artefact.media_type = media_type;
  const std::filesystem::path file = folder_ / artefact.file;
  std::filesystem::create_directories(file.parent_path());
  artefacts_.push_back(std::move(artefact));
  return file;
}

std::int64_t CaseRecorder::artefact_bytes() const {
  std::int64_t bytes = 0;
  for (const store::Artefact& artefact : artefacts_) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(folder_ / artefact.file, missing);
    if (!missing) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

Status CaseRecorder::artefact(std::string_view name, std::string_view media_type,
                              std::string_view content) noexcept {
  return guarded([&] {
    const auto size = static_cast<std::int64_t>(content.size());
    if (artefact_bytes() + size > limits_.artefact_bytes) {
      refuse(fmt::format(
          "the artefact '{}' of {} is not kept: those of a case may have {} "
          "together (measure.artefact_limit)",
          valid_utf8(name.substr(0, 200)), human_size(size), human_size(limits_.artefact_bytes)));
    }
    const std::filesystem::path file = add_artefact(name, media_type);
    std::ofstream out(file, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (out) return;
    artefacts_.pop_back();
    refuse(fmt::format("the artefact '{}' could not be written", name));
  });
}

Status CaseRecorder::artefact_file(std::string_view name, std::string_view media_type,
                                   std::filesystem::path& file) noexcept {
  return guarded([&] { file = add_artefact(name, media_type); });
}

void CaseRecorder::check_files() const {
  for (const store::Artefact& artefact : artefacts_) {
    std::error_code error;
    if (std::filesystem::symlink_status(folder_ / artefact.file, error).type() ==
        std::filesystem::file_type::regular)
      continue;
    refuse(fmt::format("the artefact '{}' was announced and not written", artefact.name));
  }
  if (const std::int64_t bytes = artefact_bytes(); bytes > limits_.artefact_bytes) {
    refuse(
        fmt::format("the artefacts of the case have {} together, more than {} "
                    "(measure.artefact_limit)",
                    human_size(bytes), human_size(limits_.artefact_bytes)));
  }
}

FileSizeLimit::FileSizeLimit(std::int64_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  before_ = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, static_cast<rlim_t>(bytes));
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

FileSizeLimit::~FileSizeLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace assay::worker
