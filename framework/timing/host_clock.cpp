#include "timing/host_clock.h"

#include <algorithm>
#include <chrono>

namespace assay::timing {

namespace {

double smallest_difference_s() {
  constexpr int differences = 100;
  double smallest_s = 1;
  for (int i = 0; i < differences; ++i) {
    const double begin_s = host_now_s();
    double end_s = host_now_s();
    while (end_s == begin_s) end_s = host_now_s();
    smallest_s = std::min(smallest_s, end_s - begin_s);
  }
  return smallest_s;
}

}  // namespace

double host_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double host_clock_step_s() {
  static const double step_s = smallest_difference_s();
  return step_s;
}

}  // namespace assay::timing
