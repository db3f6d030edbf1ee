#pragma once

#include <assay/detail/record.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

// Takes what one pass leaves beside its times, on this rank. It is valid within the call that
// passes it, on the calling thread.
//
// A metric is one that the workload (or the observer) declares. A part names what the value belongs
// to: a phase, a kernel, an operator, a tensor; "" is the whole pass. Parts, lanes, words and names
// are one line of UTF-8 text, at most 1024 bytes. Values are finite.
//
// Each function throws PluginFailure, whose reason says what is wrong, for an undeclared metric,
// the wrong kind of value, a value or text beyond the above, and beyond the limits of a case:
// 1,000,000 values, 20,000 series, and the bytes of its artefacts. What was recorded before stays.
class Recorder {
 public:
  explicit Recorder(RecorderBoundary& boundary) : boundary_(&boundary) {}

  // Appends to the series of metric and part, in the metric's unit.
  void sample(std::string_view metric, std::string_view part, double value) {
    samples(metric, part, {&value, 1});
  }
  void samples(std::string_view metric, std::string_view part, std::span<const double> values) {
    throw_unless_ok(boundary_->samples(metric, part, values));
  }
  // For a metric of kind text.
  void word(std::string_view metric, std::string_view part, std::string_view word) {
    throw_unless_ok(boundary_->word(metric, part, word));
  }
  // A stretch of time of `part`, drawn in `lane` of a timeline, such as a stream or a thread.
  // start_s: on the case's time base; duration_s: at least 0.
  void span(std::string_view part, std::string_view lane, double start_s, double duration_s) {
    throw_unless_ok(boundary_->span(part, lane, start_s, duration_s));
  }
  // Seconds since the case's beginning, the same on all ranks of one machine.
  double now_s() const { return boundary_->now_s(); }

  // A file that the case leaves. name: unique in the pass on this rank, such as "trace.json", of
  // letters, digits, '.', '-' and '_'. media_type: "application/json", "image/svg+xml", …
  void artefact(std::string_view name, std::string_view media_type, std::string_view content) {
    throw_unless_ok(boundary_->artefact(name, media_type, content));
  }
  // The same for a file that a library writes itself: returns the path to write, taken over when
  // the pass has been recorded. A write beyond the limit fails.
  std::filesystem::path artefact_file(std::string_view name, std::string_view media_type) {
    std::filesystem::path file;
    throw_unless_ok(boundary_->artefact_file(name, media_type, file));
    return file;
  }

  RecorderBoundary& boundary() const { return *boundary_; }

 private:
  RecorderBoundary* boundary_;
};

// Ends its phase or span where it is destroyed.
class [[nodiscard]] TraceScope {
 public:
  TraceScope() = default;
  TraceScope(TraceBoundary* boundary, std::int64_t id) : boundary_(boundary), id_(id) {}
  TraceScope(TraceScope&& other) noexcept
      : boundary_(std::exchange(other.boundary_, nullptr)), id_(other.id_) {}
  TraceScope& operator=(TraceScope&& other) noexcept {
    end();
    boundary_ = std::exchange(other.boundary_, nullptr);
    id_ = other.id_;
    return *this;
  }
  ~TraceScope() { end(); }

  void end() {
    if (boundary_ != nullptr) std::exchange(boundary_, nullptr)->end(id_);
  }

 private:
  TraceBoundary* boundary_ = nullptr;
  std::int64_t id_ = 0;
};

// Names what a step does at the moment. Begin and end are taken on the current stream, or by the
// host's clock on a CPU. Costs a test of a pointer while nothing is traced. One thread at a time,
// but that a span on a CPU may end on another one.
class TraceHandle {
 public:
  TraceHandle(TraceBoundary* boundary = nullptr) : boundary_(boundary) {}

  // A phase of the step: "forward", "backward", "communication", "optimizer" or the program's own.
  // Phases follow each other; none lies in another. A phase may come several times in a step: its
  // times add up.
  TraceScope phase(std::string_view name) const {
    return boundary_ == nullptr ? TraceScope() : TraceScope(boundary_, boundary_->phase(name));
  }
  // Work that may overlap other work, such as a collective on a stream of its own.
  TraceScope span(std::string_view part, std::string_view lane) const {
    return boundary_ == nullptr ? TraceScope() : TraceScope(boundary_, boundary_->span(part, lane));
  }
  // Whether spans are taken at the moment: skips work that only they need.
  bool takes_spans() const { return boundary_ != nullptr && boundary_->takes_spans(); }

 private:
  TraceBoundary* boundary_;
};

}  // namespace assay
