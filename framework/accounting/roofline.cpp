#include "accounting/roofline.h"

#include <algorithm>

namespace assay::accounting {

double forwards_of(const std::string& pass) {
  if (pass == "inference" || pass == "forward") return 1;
  return pass == "backward" ? 2 : 3;
}

Quantities roofline_time(const Model& model, const Batch& batch, const Computing& computing,
                         const Machine& machine, const std::string& precision,
                         const std::string& pass) {
  constexpr const char* source = "Williams et al. 2009";
  const double parameters = value_of(parameters_by_part(model), "parameters");
  const double flops = forwards_of(pass) * value_of(flops_by_part(model, batch), "forward, causal");
  const double saved = value_of(saved_by_part(model, batch, computing), "saved for backward");
  // The forward writes what it saves, the backward reads it; each forward's worth reads the
  // weights.
  const double touched = pass == "inference" ? 0 : pass == "forward" || pass == "backward" ? 1 : 2;
  const double element = computing.mixed ? 2 : 4;
  const Values v = {{"F", flops},       {"C", peak_flops(machine, precision)}, {"P", parameters},
                    {"e", element},     {"forwards", forwards_of(pass)},       {"A", saved},
                    {"times", touched}, {"W", machine.memory_bandwidth}};
  const double products = flops / peak_flops(machine, precision);
  const double traffic =
      (forwards_of(pass) * element * parameters + touched * saved) / machine.memory_bandwidth;
  const double optimizer = pass == "train_step" ? 28 * parameters / machine.memory_bandwidth : 0;
  return {
      quantity("products", "s", "F / C", v, products, source),
      quantity("memory traffic", "s", "(forwards * e * P + times * A) / W", v, traffic, source),
      quantity("optimizer", "s", pass == "train_step" ? "28 * P / W" : "0", v, optimizer),
      quantity("roofline", "s", "max(products, traffic) + optimizer",
               {{"products", products}, {"traffic", traffic}, {"optimizer", optimizer}},
               std::max(products, traffic) + optimizer, source),
  };
}

}  // namespace assay::accounting
