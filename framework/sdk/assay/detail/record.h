#pragma once

#include <assay/detail/boundary.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace assay {

// The worker's side of a Recorder.
class RecorderBoundary : public Boundary {
 public:
  virtual Status samples(std::string_view metric, std::string_view part,
                         std::span<const double> values) noexcept = 0;
  virtual Status word(std::string_view metric, std::string_view part,
                      std::string_view word) noexcept = 0;
  virtual Status span(std::string_view part, std::string_view lane, double start_s,
                      double duration_s) noexcept = 0;
  virtual double now_s() const noexcept = 0;
  virtual Status artefact(std::string_view name, std::string_view media_type,
                          std::string_view content) noexcept = 0;
  virtual Status artefact_file(std::string_view name, std::string_view media_type,
                               std::filesystem::path& file) noexcept = 0;
};

// The worker's side of a TraceHandle. phase() and span() return what end() takes. What goes wrong
// is told when the trace is read.
class TraceBoundary : public Boundary {
 public:
  virtual std::int64_t phase(std::string_view name) noexcept = 0;
  virtual std::int64_t span(std::string_view part, std::string_view lane) noexcept = 0;
  virtual void end(std::int64_t id) noexcept = 0;
  virtual bool takes_spans() const noexcept = 0;
};

}  // namespace assay
