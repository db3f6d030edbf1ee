#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// A place of a block that would show several results, and the axes in which these differ.
struct AmbiguousPlace {
  std::string what;                // "'time [ms]' of this table"
  SourceLocation where;            // of the column or block; line 0: unknown
  std::string key;                 // of the block, to name the axes in: rows, series, for_each
  std::vector<std::string> axes;   // as few as separate the results; empty: no ambiguity
  std::vector<std::string> texts;  // with their values: "repeat (0, 1)"
};

// Axes in `preferred` win over equally good ones; then the experiment's order decides.
AmbiguousPlace ambiguous_axes(const Records& records, const Block& block,
                              const std::vector<std::string>& preferred);

// Adds the axes to a table's rows or a plot's series, or repeats a text block for each of their
// values. Timelines and flame graphs show one case and stay as they are.
Block with_axes_added(const Records& records, Block block, const std::vector<std::string>& axes);

std::string note_on_added(const std::vector<std::string>& axes);

// Settings that --set changed in the sources.
std::vector<std::string> overridden_names(const std::vector<const store::Run*>& sources);

}  // namespace assay::report
