#include "accounting/sharing.h"

namespace assay::accounting {

namespace {

constexpr const char* zero_paper = "Rajbhandari et al. 2020, sections 5 and 7";

}  // namespace

Quantities rank_state(double parameters, double narrow, double ranks, const Sharing& sharing) {
  const Values values = {{"P", parameters}, {"M", narrow}, {"n", ranks}};
  const auto divided = [&](const char* name, double bytes, const std::string& formula,
                           bool is_shared) {
    return quantity(name, "byte", formula + " * P" + (is_shared ? " / n" : ""), values,
                    bytes * parameters / (is_shared ? ranks : 1), zero_paper);
  };
  Quantities state = {divided("parameters", 4, "4", sharing.parameters),
                      divided("gradients", sharing.gradient_bytes,
                              sharing.gradient_bytes == 2 ? "2" : "4", sharing.gradients),
                      divided("optimizer", 8, "8", sharing.moments)};
  if (sharing.copies && narrow > 0) {
    // Where only a slice is updated, what is computed in 16 bit is whole in 16 bit alone.
    const bool is_slice = sharing.moments;
    const double wide = is_slice ? parameters - narrow + narrow / ranks : parameters;
    state.front() = quantity("parameters", "byte",
                             is_slice ? "4 * (P - M) + 4 * M / n + 2 * M" : "4 * P + 2 * M", values,
                             4 * wide + 2 * narrow);
  }
  state.push_back(sum("state", state));
  return state;
}

Quantity rank_volume(double parameters, double narrow, double ranks, const Sharing& sharing) {
  const double share = (ranks - 1) / ranks;
  // Whole parameters are broadcast in their own dtype.
  const bool gathers_narrow = sharing.copies || sharing.parameters;
  const double gathered = gathers_narrow ? 4 * (parameters - narrow) + 2 * narrow : 4 * parameters;
  return quantity("volume", "byte",
                  gathers_narrow ? "(n - 1) / n * (G * B * P + W * (4 * (P - M) + 2 * M))"
                                 : "(n - 1) / n * (G * B + W * 4) * P",
                  {{"P", parameters},
                   {"M", narrow},
                   {"n", ranks},
                   {"G", sharing.gradient_rounds},
                   {"B", sharing.gradient_bytes},
                   {"W", sharing.parameter_rounds}},
                  share * (sharing.gradient_rounds * sharing.gradient_bytes * parameters +
                           sharing.parameter_rounds * gathered),
                  zero_paper);
}

double ring_bytes(const std::string& collective, double bytes, double ranks) {
  const double share = (ranks - 1) / ranks;
  if (collective == "all_reduce") return 2 * share * bytes;
  return share * bytes;
}

}  // namespace assay::accounting
