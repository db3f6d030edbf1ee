#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "report/data/cell.h"
#include "report/data/rate.h"
#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

using Key = std::vector<std::uint32_t>;  // codes on the axes of rows

struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

// The candidates that pass the filter, in their order. None pass where the data lack an axis of it.
Result<RecordIds> select(const Records& records, const RecordIds& candidates, const Filter& filter);

// The texts of an axis among these records, each once, in their order; `none` for an empty one.
std::vector<std::string> distinct_texts(const Records& records, const RecordIds& ids,
                                        std::size_t axis, std::string_view none);

// The axes, except those of `aside`, on which these records differ: "attention (naive, flash)".
std::vector<std::string> differing_axes(const Records& records, const RecordIds& ids,
                                        const std::vector<std::string_view>& aside);

// Why the pass of a time among these was not verified (docs/external.md); "" where all were.
std::string why_unverified(const Records& records, const RecordIds& ids);

// The end of a sentence that rests on `all` figures, `unverified` of them not verified: "",
// " (not verified)" or " (2 of 5 pairs not verified)".
std::string not_verified(std::size_t unverified, std::size_t all, std::string_view what);

std::vector<store::Mark> marks_of(const Records& records, const RecordIds& ids);

// Whether the axis orders its values: all are numbers, and it is not `repeat`.
bool is_numeric_axis(const Records& records, std::size_t axis);
double number_at(const Records& records, std::uint32_t record, std::size_t axis);

// The results of one measure by their codes on `axes`.
class MeasureIndex {
 public:
  // `name` and `where` are the column's, for messages. Keeps references to records and measure.
  static Result<MeasureIndex> build(const Records& records, const RecordIds& candidates,
                                    const Measure& measure, std::vector<std::size_t> axes,
                                    std::string name, SourceLocation where);

  // Of the same results, by a measure that differs in its statistic alone; what those of a relative
  // measure are divided by keeps its statistic. Keeps a reference to the measure.
  MeasureIndex by(const Measure& measure) const;

  const std::unordered_map<Key, RecordIds, KeyHash>& found() const { return results_->found; }
  const std::unordered_map<Key, RecordIds, KeyHash>& failed() const { return results_->failed; }

  // An error where several results belong to the cell; it names the axes they differ in.
  Result<Cell> at(const Key& key) const;

 private:
  struct Results {
    std::unordered_map<Key, RecordIds, KeyHash> found;
    std::unordered_map<Key, RecordIds, KeyHash> failed;  // of any metric
    std::unordered_set<Key, KeyHash> others;             // of other metrics and parts
  };

  Result<Cell> value(const RecordIds& ids) const;
  Cell figure(const std::vector<const store::Series*>& series, RankRule rule) const;
  // Whether they differ in the rank alone.
  bool are_ranks(const RecordIds& ids) const;
  // The axes on which they differ and that the measure does not pool.
  std::vector<std::string> not_pooled(const RecordIds& ids) const;
  tl::unexpected<Error> ambiguous(const RecordIds& ids) const;
  Cell relative(const Cell& cell, const Cell& base) const;

  const Records* records_ = nullptr;
  const Measure* measure_ = nullptr;
  std::vector<std::size_t> axes_;
  std::string name_;
  SourceLocation where_;
  std::shared_ptr<const RateOfRecords> rate_;
  std::shared_ptr<const Results> results_;
  std::shared_ptr<const MeasureIndex> base_;  // relative_to
  std::shared_ptr<const Measure> base_measure_;
  std::vector<std::size_t> base_keys_;  // positions in axes_ that make a key of base_
};

}  // namespace assay::report
