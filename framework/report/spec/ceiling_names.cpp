#include "report/spec/ceiling_names.h"

namespace assay::report {

std::vector<std::string> ceiling_names(std::string_view unit) {
  std::vector<std::string> names;
  if (unit == "FLOP/s") {
    names = {"auto", "matmul"};
    for (const std::string_view dtype : ceiling_dtypes)
      names.push_back("matmul_" + std::string(dtype));
  } else if (unit == "byte/s") {
    names = {"auto", "copy"};
    names.insert(names.end(), std::begin(ceiling_collectives), std::end(ceiling_collectives));
  }
  return names;
}

}  // namespace assay::report
