#pragma once

// report/data turns stored runs into what a spec asks for: records by axis, selection, reduction to
// one figure, rates and their ceilings, cells. It depends on report/spec, config and store/records.
// Start here, then select.h.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/experiment.h"
#include "report/data/ceilings.h"
#include "report/data/source.h"
#include "store/records/marks.h"
#include "store/records/records.h"

namespace assay::report {

// The names every record has besides its case's parameters.
inline constexpr std::string_view series_axes[] = {"pass", "part", "rank", "source", "run"};
inline constexpr std::size_t pass_axis = 0, part_axis = 1, rank_axis = 2, source_axis = 3,
                             run_axis = 4;
static_assert(std::size(series_axes) == run_axis + 1);

// All series of the sources side by side, each with its case's parameters: a matrix of codes, one
// column an axis, so that selecting compares small integers. After the axes of every series come
// those of the experiments' matrices in their order, then the other parameters by name. Holds
// references into the sources.
class Records {
 public:
  explicit Records(const std::vector<Source>& sources);
  // What a plan's cases will have, before any is run: a record a case and pass, without a series.
  Records(const config::Plan& plan, const std::vector<std::string>& passes);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  struct Axis {
    std::string name;
    std::vector<Value> values;  // by code; values[0] is monostate: the case has none
    std::map<Value, std::uint32_t> codes;
  };

  struct Record {
    const store::Series* series;  // null of what is only planned, as is its result
    const store::CaseResult* result;
    std::uint32_t case_number;  // counts cases over all sources
    // "throttled": why times that were measured are not shown (`measure.unhealthy: discard`); their
    // series then stands here without samples, as `skipped`.
    std::string discarded;
  };

  std::size_t size() const { return records_.size(); }
  const Record& operator[](std::size_t i) const { return records_[i]; }
  const std::vector<Axis>& axes() const { return axes_; }
  std::optional<std::size_t> axis(std::string_view name) const;
  std::uint32_t code(std::size_t record, std::size_t axis) const {
    return codes_[record * axes_.size() + axis];
  }
  const Value& value(std::size_t record, std::size_t axis) const {
    return axes_[axis].values[code(record, axis)];
  }
  // `source` counts them from 0. A case that failed without any series stands once for each pass
  // its run knows, with an empty metric.
  const std::vector<const store::Run*>& sources() const { return sources_; }
  bool is_planned() const { return sources_.empty(); }

  // What the machine of each source can do at most; without, no rate has a share of it.
  void set_ceilings(std::vector<Ceilings> of_sources) { ceilings_ = std::move(of_sources); }
  // nullptr where nothing is known of the machine of the record's source.
  const Ceilings* ceilings(std::size_t record) const;

  // Names of the metrics, in the order they first appear, with their unit.
  const std::vector<std::pair<std::string, std::string>>& metrics() const { return metrics_; }
  std::vector<std::string> passes() const;

  // Axes of cases with more than one value, in the order of the cases' own names.
  bool varies(std::size_t axis) const;

 private:
  void collect_axes(const std::vector<Source>& sources);
  void add_source(std::size_t number);
  void add_series(const store::Series& series, const store::CaseResult& result,
                  const std::vector<std::uint32_t>& case_codes, std::uint32_t case_number);
  std::uint32_t intern(std::size_t axis, const Value& value);

  std::vector<const store::Run*> sources_;
  std::vector<Axis> axes_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::pair<std::string, std::string>> metrics_;
  std::deque<store::Series> stand_ins_;
  std::vector<Ceilings> ceilings_;
};

}  // namespace assay::report
