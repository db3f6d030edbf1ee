#include "intervals.h"

#include <algorithm>

namespace assay::kernels {

std::vector<Interval> united(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> united;
  for (const Interval& next : intervals) {
    if (next.length() <= 0) continue;
    if (!united.empty() && next.begin <= united.back().end) {
      united.back().end = std::max(united.back().end, next.end);
    } else {
      united.push_back(next);
    }
  }
  return united;
}

Nanoseconds total(const std::vector<Interval>& united) {
  Nanoseconds sum = 0;
  for (const Interval& each : united) sum += each.length();
  return sum;
}

Nanoseconds common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Nanoseconds sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum +=
        std::max<Nanoseconds>(0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

Occupation occupation(std::vector<Launched> work, Nanoseconds handover) {
  Occupation found;
  std::ranges::sort(work, {}, [](const Launched& each) { return each.work.begin; });
  bool first = true;
  for (const Launched& next : work) {
    if (first) {
      found.span = next.work;
      found.busy = next.work.length();
      first = false;
      continue;
    }
    const Nanoseconds gap = next.work.begin - found.span.end;
    if (gap > 0) {
      if (next.has_launch && next.launch.begin >= found.span.end) {
        found.idle.host += gap;
      } else if (next.has_launch && gap <= handover) {
        found.idle.kernel += gap;
      } else {
        found.idle.other += gap;
      }
    }
    const Nanoseconds begin = std::max(next.work.begin, found.span.end);
    found.busy += std::max<Nanoseconds>(0, next.work.end - begin);
    found.span.end = std::max(found.span.end, next.work.end);
  }
  return found;
}

}  // namespace assay::kernels
