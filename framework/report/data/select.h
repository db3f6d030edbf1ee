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

using Key = std::vector<std::uint32_t>;  // codes on the axes that tell rows apart

struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

// The records among `candidates` that pass, in their order. An axis that the data does not have
// passes nothing.
Result<RecordIds> select(const Records& records, const RecordIds& candidates, const Filter& filter);

// The axes on which these records differ, with their values: "attention (naive, flash)"; those of
// `aside` are not looked at.
std::vector<std::string> differing_axes(const Records& records, const RecordIds& ids,
                                        const std::vector<std::string_view>& aside);

// Why nobody has checked a time among these, where an external program has taken it and its pass
// was not verified (docs/external.md); "" otherwise.
std::string why_unverified(const Records& records, const RecordIds& ids);

// What a sentence ends with when `unverified` of the `all` figures it rests on are times that
// nobody has checked: "", " (not verified)" or " (2 of 5 pairs not verified)".
std::string not_verified(std::size_t unverified, std::size_t all, std::string_view what);

// What deserves less trust about these, each mark once.
std::vector<store::Mark> marks_of(const Records& records, const RecordIds& ids);

// Whether there is a more and a less along it.
bool is_numeric_axis(const Records& records, std::size_t axis);
double number_at(const Records& records, std::uint32_t record, std::size_t axis);

// For each combination of codes on `axes`, the results of one measure.
class MeasureIndex {
 public:
  // `name` and `where` are the column's, for messages.
  static Result<MeasureIndex> build(const Records& records, const RecordIds& candidates,
                                    const Measure& measure, std::vector<std::size_t> axes,
                                    std::string name, SourceLocation where);

  // Rows this measure has something for, with the first record of each.
  const std::unordered_map<Key, RecordIds, KeyHash>& found() const { return found_; }
  const std::unordered_map<Key, RecordIds, KeyHash>& failed() const { return failed_; }

  // An error when more than one result belongs to the cell, naming what they differ in.
  Result<Cell> at(const Key& key) const;

 private:
  Result<Cell> value(const RecordIds& ids) const;
  Cell figure(const std::vector<const store::Series*>& series, RankRule rule) const;
  // Whether they are one pass and part of one case: of its ranks.
  bool of_one_series(const RecordIds& ids) const;
  // What they differ in though the measure does not pool it.
  std::vector<std::string> not_pooled(const RecordIds& ids) const;
  tl::unexpected<Error> ambiguous(const RecordIds& ids) const;
  Cell relative(const Cell& cell, const Cell& base) const;

  const Records* records_ = nullptr;
  const Measure* measure_ = nullptr;
  std::vector<std::size_t> axes_;
  std::string name_;
  SourceLocation where_;
  bool rank_is_key_ = false;
  std::shared_ptr<const RateOfRecords> rate_;  // where the measure is one
  std::unordered_map<Key, RecordIds, KeyHash> found_;
  std::unordered_map<Key, RecordIds, KeyHash> failed_;  // not ok, of whatever metric
  std::unordered_set<Key, KeyHash> measured_;           // whatever metric there is
  std::shared_ptr<const MeasureIndex> base_;            // relative_to
  std::shared_ptr<const Measure> base_measure_;
  std::vector<std::size_t> base_keys_;  // positions in axes_ that the base is looked up by
};

}  // namespace assay::report
