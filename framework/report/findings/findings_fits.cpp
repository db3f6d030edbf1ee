#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "report/findings/pairs.h"

namespace assay::report {
namespace {

constexpr std::size_t most_places = 4;

bool fits(const store::Series& series) { return series.outcome == Outcome::ok; }

// What came of each pass of each case, by everything but the axis; of ranks the first.
using Outcomes = std::unordered_map<Key, std::map<std::uint32_t, std::uint32_t>, KeyHash>;
Outcomes outcomes_along(const Records& records, const RecordIds& ids,
                        const std::vector<std::size_t>& own) {
  Outcomes found;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    const bool is_time = (series.metric == "time" || series.metric.empty()) && series.part.empty();
    const bool tells = fits(series) || series.outcome == Outcome::oom;
    if (!is_time || !tells || records.code(id, own.front()) == 0) continue;
    const auto [at, added] =
        found[rest_of(records, id, own)].emplace(records.code(id, own.front()), id);
    if (!added && fits(series)) at->second = id;  // with one of its options it fits
  }
  return found;
}

struct Fits {
  std::vector<std::uint32_t> alone;      // records of what fits where the baseline does not
  std::vector<std::uint32_t> base_only;  // and the other way round
  std::size_t pairs = 0, neither = 0;
};

std::map<std::uint32_t, Fits> beside_baseline(const Records& records, const Outcomes& outcomes,
                                              std::uint32_t baseline) {
  std::map<std::uint32_t, Fits> by_variant;
  for (const auto& [rest, by_code] : outcomes) {
    const auto base = by_code.find(baseline);
    if (base == by_code.end()) continue;
    const bool base_fits = fits(*records[base->second].series);
    for (const auto& [code, id] : by_code) {
      if (code == baseline) continue;
      Fits& one = by_variant[code];
      const bool variant_fits = fits(*records[id].series);
      ++one.pairs;
      if (!variant_fits && !base_fits) ++one.neither;
      if (variant_fits && !base_fits) one.alone.push_back(id);
      if (!variant_fits && base_fits) one.base_only.push_back(id);
    }
  }
  return by_variant;
}

std::string places(const Records& records, std::vector<std::uint32_t> ids,
                   const std::vector<std::size_t>& own) {
  std::ranges::sort(ids);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < ids.size() && i < most_places; ++i) {
    std::string place = place_of(records, ids[i], own);
    if (!place.empty()) place += ", ";
    words.push_back(place + to_text(records.value(ids[i], pass_axis)));
  }
  if (ids.size() > most_places) {
    words.push_back(fmt::format("and {} more", ids.size() - most_places));
  }
  return join(words, "; ");
}

std::string sentence(const Records& records, const std::string& variant, const std::string& base,
                     const Fits& fits, const std::vector<std::size_t>& own) {
  std::string text;
  if (!fits.alone.empty()) {
    text = fmt::format("**{} fits where {} does not**, in {} of {} pairs: {}", variant, base,
                       fits.alone.size(), fits.pairs, places(records, fits.alone, own));
  }
  if (!fits.base_only.empty()) {
    text += fmt::format("{}**{} does not fit where {} does**, in {} of {} pairs: {}",
                        text.empty() ? "" : ". ", variant, base, fits.base_only.size(), fits.pairs,
                        places(records, fits.base_only, own));
  }
  if (!text.empty()) return text + ".";
  if (fits.neither == 0) return {};
  return fmt::format("**{} fits where {} does**, and nowhere else: in {} of {} pairs neither does.",
                     variant, base, fits.neither, fits.pairs);
}

}  // namespace

std::vector<std::string> fit_findings(const Records& records, const RecordIds& ids,
                                      const FindingSpec& spec) {
  std::vector<std::string> sentences;
  for (const std::string_view kind : variant_kinds) {
    const std::string name = spec.axis.empty() ? std::string(kind) : spec.axis;
    const auto axis = records.axis(name);
    const std::uint32_t baseline = axis ? baseline_code(records, *axis, spec.baseline) : 0;
    if (baseline != 0) {
      const std::vector<std::size_t> own = axis_and_options(records, *axis);
      const std::string base = to_text(records.axes()[*axis].values[baseline]);
      const Outcomes outcomes = outcomes_along(records, ids, own);
      for (const auto& [code, found] : beside_baseline(records, outcomes, baseline)) {
        std::string text =
            sentence(records, to_text(records.axes()[*axis].values[code]), base, found, own);
        if (!text.empty()) sentences.push_back(std::move(text));
      }
    }
    if (!spec.axis.empty()) break;
  }
  return sentences;
}

}  // namespace assay::report
