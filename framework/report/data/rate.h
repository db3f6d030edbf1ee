#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <tuple>
#include <vector>

#include "report/data/cell.h"
#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

using RecordIds = std::vector<std::uint32_t>;

// Derives the rates of a measure: count of the pass * calls per sample / time, and / ceiling for a
// share. The count is the mean over ranks; the time is that of the slowest rank unless the measure
// says otherwise. Keeps references to both arguments.
class RateOfRecords {
 public:
  RateOfRecords(const Records& records, const Measure& measure);

  // `ids` are times of one measurement or of pooled ones, `times` their series. The cell is
  // undefined, with a reason, where the pass has no count or the ceiling is unknown.
  Cell cell(const RecordIds& ids, const std::vector<const store::Series*>& times,
            RankRule rule) const;

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // case, pass, part
  template <class T>
  using OrReason = tl::expected<T, std::string>;

  Place place(std::uint32_t id) const;
  OrReason<double> count_of_sample(const RecordIds& ids) const;
  OrReason<const Ceiling*> ceiling_of(std::uint32_t id) const;
  std::string formula(const store::CaseResult& result, const Ceiling* ceiling) const;

  const Records& records_;
  const Measure& measure_;
  std::map<Place, std::vector<const store::Series*>> counts_;
};

}  // namespace assay::report
