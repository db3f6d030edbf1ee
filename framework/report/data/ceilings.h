#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/data/all_reduces.h"
#include "store/records/records.h"

namespace assay::report {

// The highest rate, or the shortest launch, that a calibration run measured on a machine.
struct Ceiling {
  std::string name;  // one of ceiling_names(), or launch_<operation>, launch_<operation>_graph
  std::string device;
  std::string backend;     // gloo, nccl; collectives only
  std::int64_t ranks = 1;  // collectives only
  double value = 0;        // in `unit`
  std::string unit;        // byte/s or FLOP/s, the most counts; s for launches, the least counts
  // "bytes / median time, best of 6: size 1.00 GiB; measured while throttled"
  std::string formula;
  std::int64_t largest = 0;  // of the sizes tried: rows of a product, bytes of a copy
  bool marked = false;       // measured while the machine was not fit, or of samples that are not
  std::string run;           // the calibration's name
};

class Ceilings {
 public:
  // Reads the cases of the workloads copy, matmul, launch and collective, without discarded times
  // (`measure.unhealthy`). A known ceiling stays: add the newest run first.
  void add(const store::Run& calibration);
  // Puts what this run's all-reduces took ahead of what is known.
  void prefer_all_reduces_of(const store::Run& run);

  const std::vector<Ceiling>& all() const { return all_; }
  // Of those that are alike the first counts (find_all_reduces()).
  const std::vector<AllReduces>& all_reduces() const { return all_reduces_; }
  bool empty() const { return all_.empty() && all_reduces_.empty(); }

  // The ceiling of that name on the case's device and, for collectives, with its backend and number
  // of ranks. nullptr: not measured.
  const Ceiling* find(std::string_view name, const store::Parameters& of_case) const;

 private:
  std::vector<Ceiling> all_;
  std::vector<AllReduces> all_reduces_;
};

// "712.3 TFLOP/s".
std::string value_with_unit(const Ceiling& ceiling);

// The ceiling that `auto` and `matmul` stand for in a case: the collective of the pass for
// bus_bytes, a copy for bytes, a matrix product in the case's precision for FLOPs. Any other name
// stands for itself. nullopt: the case names no dtype.
std::optional<std::string> ceiling_meant(std::string_view asked, std::string_view count,
                                         std::string_view pass, const store::Parameters& of_case);

// One sample of a time is the sum of so many calls.
double calls_per_sample(const store::Parameters& of_case);

}  // namespace assay::report
