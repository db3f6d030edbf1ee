#pragma once

#include <assay/workload.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay::collective {

// A collective over n ranks. Sizes are those nccl-tests reports: the data that is reduced or sent,
// and of all_gather, reduce_scatter and all_to_all the whole that the ranks share.
struct Operation {
  const char* name;
  bool shares;                     // the whole is divided into equal shares of the ranks
  bool reduces;                    // sums, so that repeating it in place sums again
  bool in_place_by_c10d;           // c10d has this form only
  bool may_be_in_place;            // no rank reads what it has already overwritten
  double (*bus_factor)(double n);  // bus bandwidth / (size / time)
  const char* formula;             // the same as an expression
};

const std::vector<Operation>& operations();
// Throws std::invalid_argument for another name.
const Operation& operation(const std::string& name);

// Elements of one call's input and output on a rank.
struct Shape {
  std::int64_t whole = 0;
  std::int64_t share = 0;  // of each rank; the whole where nothing is shared
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// The whole is rounded down to equal shares, each of a multiple of 16 bytes where it is that large,
// as nccl-tests does; at least an element a rank.
Shape shape_of(const Operation& operation, std::int64_t bytes, std::int64_t element_size,
               int ranks);

}  // namespace assay::collective
