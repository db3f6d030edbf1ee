#pragma once

#include <ostream>
#include <string>

namespace assay::faults {

// A plugin that misbehaves in one of three cases.
struct PluginFault {
  std::string name;  // of the option's value, and of the test
  std::string done;  // for the page
  std::string outcome;
  std::string reason;  // an extended regular expression; ^…$ where all of it is known
  std::string more;    // settings of its case, "measure.timeout: 4 s", or options of the plugin
  std::string mark;    // expected of its case, "" for none
  std::string mark_reason;       // as `reason`
  bool after_measuring = false;  // it keeps its times, which are measured and verified by then
  bool may_vary = false;         // the reason varies
};

// googletest's name for one.
inline void PrintTo(const PluginFault& fault, std::ostream* stream) { *stream << fault.name; }

struct Hostile {
  std::string library;
  std::string attention;
  std::string device;
  std::string group;  // table of the page
};

// Runs good case, fault, good case (the same library without a fault). Checks that the fault costs
// only its own case, is reported everywhere (struck_case.h) and leaves nothing behind.
void expect_costs_its_case_alone(const Hostile& hostile, const PluginFault& fault);

}  // namespace assay::faults
