#pragma once

// report/data turns stored runs into cells: it indexes records by axis, selects them, reduces them
// to figures and derives rates and shares of ceilings. It depends on report/spec, config and
// store/records. Start here, then select.h.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/experiment.h"
#include "report/data/ceilings.h"
#include "report/data/source.h"
#include "store/records/marks.h"
#include "store/records/records.h"

namespace assay::report {

// The axes of every record besides its case's parameters.
inline constexpr std::string_view series_axes[] = {"pass", "part", "rank", "source", "run"};
inline constexpr std::size_t pass_axis = 0, part_axis = 1, rank_axis = 2, source_axis = 3,
                             run_axis = 4;
static_assert(std::size(series_axes) == run_axis + 1);

// All series of the sources with their cases' parameters, as a matrix of codes with a column per
// axis: selecting compares small integers. Axes: series_axes, then those of the experiments'
// matrices in their order, then other parameters by name, then derived ones (derived_axes.h). Keeps
// pointers into the sources.
class Records {
 public:
  explicit Records(const std::vector<Source>& sources);
  // A plan before its run: a record without a series for each case and pass. `presets` as in
  // config::Experiment.
  Records(const config::Plan& plan, const std::vector<std::string>& passes,
          const std::map<std::string, nlohmann::json>& presets = {});
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  struct Axis {
    std::string name;
    std::vector<Value> values;  // by code; values[0]: monostate, no value
    std::map<Value, std::uint32_t> codes;
  };

  struct Record {
    const store::Series* series;      // null in a plan
    const store::CaseResult* result;  // null in a plan
    std::uint32_t case_number;
    // The mark, "throttled", that hides measured times (`measure.unhealthy: discard`): the series
    // is then a stand-in, `skipped` and without samples.
    std::string discarded;
  };

  std::size_t size() const { return records_.size(); }
  const Record& operator[](std::size_t i) const { return records_[i]; }
  const std::vector<Axis>& axes() const { return axes_; }
  // The axes from this one on are derived. They follow from the others, so nothing that a report
  // adds or compares on its own names them.
  std::size_t first_derived() const { return first_derived_; }
  std::optional<std::size_t> axis(std::string_view name) const;
  std::uint32_t code(std::size_t record, std::size_t axis) const {
    return codes_[record * axes_.size() + axis];
  }
  const Value& value(std::size_t record, std::size_t axis) const {
    return axes_[axis].values[code(record, axis)];
  }
  // Numbered from 0 by the axis `source`. What looks at timed calls found has records of its own
  // (errors_of_looks.h). A failed case without series has a record with an empty
  // metric for each pass of its run.
  const std::vector<const store::Run*>& sources() const { return sources_; }
  bool is_planned() const { return sources_.empty(); }

  // Adds what bucket_models.h makes of the sources, by all-reduces of their machines: behind
  // set_ceilings() what it lacked before.
  void add_bucket_models();

  // One per source; shares need them.
  void set_ceilings(std::vector<Ceilings> of_sources) { ceilings_ = std::move(of_sources); }
  // nullptr: the machine of the record's source has no calibration.
  const Ceilings* ceilings(std::size_t record) const;

  // What the source measured itself comes first, then what is known of its machine, then what other
  // sources of that machine measured; what does not tell its cost comes behind all that does.
  std::vector<AllReduces> all_reduces_for(std::size_t source) const;
  std::size_t source_of(std::size_t record) const;  // as many as there are: it has none

  const std::vector<std::pair<std::string, std::string>>& metrics() const { return metrics_; }
  // Whether a series of the metric holds words.
  bool is_text(std::string_view metric) const { return text_metrics_.count(metric) > 0; }
  // Of spans.
  const std::set<std::string>& lanes() const { return lanes_; }
  std::vector<std::string> passes() const;

  // Whether it is no derived axis and has several values.
  bool varies(std::size_t axis) const;

 private:
  void add_axis(const std::string& name);
  void collect_axes(const std::vector<Source>& sources);
  void add_derived_axes(const std::set<std::string>& names);
  std::map<std::string, std::size_t> axes_of_parameters() const;
  void set_parameters(const store::Parameters& parameters,
                      const std::map<std::string, std::size_t>& axes,
                      std::vector<std::uint32_t>& codes);
  void set_derived(const std::map<std::string, Value>& values, std::vector<std::uint32_t>& codes);
  void add_source(std::size_t number);
  std::map<const store::CaseResult*, std::size_t> first_records() const;
  void add_series(const store::Series& series, const store::CaseResult& result,
                  const std::vector<std::uint32_t>& case_codes, std::uint32_t case_number);
  std::uint32_t intern(std::size_t axis, const Value& value);

  std::vector<const store::Run*> sources_;
  std::vector<Axis> axes_;
  std::size_t first_derived_ = 0;
  std::vector<Record> records_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::pair<std::string, std::string>> metrics_;
  std::set<std::string, std::less<>> text_metrics_;
  std::set<std::string> lanes_;
  std::deque<store::Series> stand_ins_;
  std::vector<Ceilings> ceilings_;
  std::set<const store::CaseResult*> modelled_;  // by add_bucket_models()
};

}  // namespace assay::report
