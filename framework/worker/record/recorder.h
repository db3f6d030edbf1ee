#pragma once

// worker/record keeps what a case records beside its times. It depends on measure and wire. Start
// here.

#include <assay/metric.h>
#include <assay/record.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "store/records/records.h"

namespace assay::worker {

struct RecordingLimits {
  std::size_t values = 1'000'000;  // samples, words and spans of a case
  std::size_t series = 20'000;
  std::int64_t artefact_bytes = 0;  // of all artefacts together
};

// The series, spans and artefacts of one case on one rank, pass by pass.
class CaseRecorder final : public RecorderBoundary {
 public:
  // begin_s: zero of the case's time base, on host_now_s()'s clock. folder: made with the first
  // artefact; "" where none may be left.
  CaseRecorder(double begin_s, std::filesystem::path folder, const RecordingLimits& limits)
      : begin_s_(begin_s), folder_(std::move(folder)), limits_(limits) {}

  // What follows belongs to this pass and is of these metrics. of: who declares them, for errors:
  // "the workload 'mine'".
  void begin(std::string pass, std::string of, const std::vector<MetricInfo>& metrics);
  // What was recorded since begin(), in the order of the first value, without a rank.
  std::vector<store::Series> take_series();
  // Of all passes; `file` is relative to the folder, size and hash are not known yet. Throws
  // PluginFailure where a file that was handed out is missing or they exceed the limit together.
  const std::vector<store::Artefact>& artefacts() const { return artefacts_; }
  void check_files() const;

  Status samples(std::string_view metric, std::string_view part,
                 std::span<const double> values) noexcept override;
  Status word(std::string_view metric, std::string_view part,
              std::string_view word) noexcept override;
  Status span(std::string_view part, std::string_view lane, double start_s,
              double duration_s) noexcept override;
  double now_s() const noexcept override;
  double begin_s() const { return begin_s_; }
  Status artefact(std::string_view name, std::string_view media_type,
                  std::string_view content) noexcept override;
  Status artefact_file(std::string_view name, std::string_view media_type,
                       std::filesystem::path& file) noexcept override;

 private:
  const MetricInfo& declared(std::string_view metric, MetricKind kind) const;
  store::Series& series_of(std::string_view metric, std::string_view part, std::string_view lane);
  void count(std::size_t values);
  std::filesystem::path add_artefact(std::string_view name, std::string_view media_type);
  std::int64_t artefact_bytes() const;

  double begin_s_;
  std::filesystem::path folder_;
  RecordingLimits limits_;
  std::string pass_;
  int pass_number_ = 0;
  std::string of_;
  std::map<std::string, MetricInfo, std::less<>> metrics_;
  std::vector<store::Series> series_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of series_
  std::size_t values_ = 0;
  std::size_t series_count_ = 0;
  std::vector<store::Artefact> artefacts_;
};

// While one lives, no file of this process can be written beyond the size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::int64_t bytes);
  ~FileSizeLimit();
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  std::uint64_t before_ = 0;
};

}  // namespace assay::worker
