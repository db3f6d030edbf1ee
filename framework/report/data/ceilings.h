#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/records/records.h"

namespace assay::report {

// The most a machine does of one thing, as a calibration run measured it.
struct Ceiling {
  std::string name;     // one of ceiling_names(), or launch_<operation>, launch_<operation>_graph
  std::string device;   // cpu, cuda
  std::string backend;  // of collectives: gloo, nccl
  std::int64_t ranks = 1;  // likewise
  double value = 0;        // in `unit`
  std::string unit;        // byte/s, FLOP/s; of a launch s, and then the least is the ceiling
  // "bytes / median time, best of 6: size 1.00 GiB; measured while throttled": marks of the case.
  std::string formula;
  std::string run;  // that measured it
};

// The ceilings of one machine.
class Ceilings {
 public:
  // What the cases of the workloads copy, matmul, launch and collective have reached, but
  // for times that were discarded (`measure.unhealthy`). A ceiling that is known already stays as
  // it is: add the newest run first.
  void add(const store::Run& calibration);

  const std::vector<Ceiling>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

  // The one of that name for this case: on its device and, where it is a collective's, of its
  // backend and number of ranks. nullptr where nothing has measured it.
  const Ceiling* find(std::string_view name, const store::Parameters& of_case) const;

 private:
  std::vector<Ceiling> all_;
};

// "712.3 TFLOP/s".
std::string value_with_unit(const Ceiling& ceiling);

// The ceiling that `auto` and `matmul` stand for in a case: bus_bytes have that of their pass'
// collective, bytes that of a copy, FLOPs that of a matrix product in the case's precision. Any
// other name stands for itself. nullopt where the case says no dtype.
std::optional<std::string> ceiling_meant(std::string_view asked, std::string_view count,
                                         std::string_view pass, const store::Parameters& of_case);

// Calls that one sample of the case's times is the sum of.
double calls_per_sample(const store::Parameters& of_case);

}  // namespace assay::report
