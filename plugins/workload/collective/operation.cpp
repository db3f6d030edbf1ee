#include "workload/collective/operation.h"

#include <algorithm>
#include <stdexcept>

namespace assay::collective {

namespace {

constexpr std::int64_t share_alignment = 16;  // bytes

double once(double) { return 1; }
double shared(double n) { return (n - 1) / n; }
double twice_shared(double n) { return 2 * (n - 1) / n; }

}  // namespace

// Factors: doc/PERFORMANCE.md of nccl-tests; derived in docs/communication.md.
const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"all_reduce", false, true, true, true, twice_shared, "2 * (world_size - 1) / world_size"},
      {"all_gather", true, false, false, true, shared, "(world_size - 1) / world_size"},
      {"reduce_scatter", true, true, false, true, shared, "(world_size - 1) / world_size"},
      {"broadcast", false, false, true, true, once, "1"},
      {"reduce", false, true, true, true, once, "1"},
      {"all_to_all", true, false, false, false, shared, "(world_size - 1) / world_size"},
      {"send_recv", false, false, false, false, once, "1"},
  };
  return all;
}

const Operation& operation(const std::string& name) {
  for (const Operation& one : operations()) {
    if (name == one.name) return one;
  }
  throw std::invalid_argument("collective has no pass '" + name + "'");
}

Shape shape_of(const Operation& operation, std::int64_t bytes, std::int64_t element_size,
               int ranks) {
  Shape shape;
  shape.whole = std::max<std::int64_t>(bytes / element_size, 1);
  shape.share = shape.whole;
  if (operation.shares) {
    const std::int64_t each = std::max<std::int64_t>(shape.whole / ranks, 1);
    const std::int64_t unit = share_alignment / element_size;
    shape.share = each < unit ? each : each - each % unit;
    shape.whole = shape.share * ranks;
  }
  const std::string name = operation.name;
  shape.in = name == "all_gather" ? shape.share : shape.whole;
  shape.out = name == "reduce_scatter" ? shape.share : shape.whole;
  return shape;
}

}  // namespace assay::collective
