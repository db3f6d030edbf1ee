#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "report/data/records.h"
#include "report/spec/spec.h"

namespace assay::report {

// A block that would show several results in one place, and the axes that tell those apart.
struct Shared {
  std::string what;                // "'time [ms]' of this table"
  SourceLocation where;            // of what shows them, as far as known
  std::string named_in;            // the key of the block that would tell them apart
  std::vector<std::string> axes;   // as few as tell the results apart
  std::vector<std::string> texts;  // the same with their values: "repeat (0, 1)"
};

// No axes where every place of the block has one result, and of blocks that show none. Of axes that
// do equally well those in `preferred` come first, then those of the experiment in its order.
Shared ambiguous_axes(const Records& records, const Block& block,
                      const std::vector<std::string>& preferred);

// The same block with these axes told apart: further columns of a table's rows, further lines of a
// plot, a text block for each of their values; timelines and flame graphs, which are of one case,
// stay what they are.
Block with_axes_added(const Records& records, Block block, const std::vector<std::string>& axes);

// What is written below such a block.
std::string note_on_added(const std::vector<std::string>& axes);

// The names that the sources' --set gave.
std::vector<std::string> overridden_names(const std::vector<const store::Run*>& sources);

}  // namespace assay::report
