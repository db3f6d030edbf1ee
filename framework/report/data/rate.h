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

// Derives the rates that a measure asks for: the count of a pass, times the calls in one sample, by
// the time that it took; where it asks for a share, by the ceiling of the machine too. Of several
// ranks the count is their mean: a rate is that of one rank, the slowest unless the measure says
// another. Holds references to both.
class RateOfRecords {
 public:
  RateOfRecords(const Records& records, const Measure& measure);

  // `ids` are times of one measurement (or of several that are pooled), `times` their series.
  // Undefined, with the reason, where the pass counts nothing or the ceiling is not known.
  Cell cell(const RecordIds& ids, const std::vector<const store::Series*>& times,
            RankRule rule) const;

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // case, pass, part
  template <class T>
  using OrReason = tl::expected<T, std::string>;

  Place place(std::uint32_t id) const;
  // Of one sample.
  OrReason<double> count_of(const RecordIds& ids) const;
  OrReason<const Ceiling*> ceiling_of(std::uint32_t id) const;
  std::string formula(const store::CaseResult& result, const Ceiling* ceiling) const;

  const Records& records_;
  const Measure& measure_;
  std::map<Place, std::vector<const store::Series*>> counts_;
};

}  // namespace assay::report
