#pragma once

#include <cstdint>
#include <optional>

#include "layout.h"

namespace assay::norm_parts {

// What a GPU offers a kernel.
struct Machine {
  int multiprocessors = 0;
  int shared_bytes = 0;  // of a block, beyond what the kernel declares itself
};

struct Need {
  std::int64_t rows = 0;
  int n_cols = 0;
  float eps = 0;
  int elements = 0;           // of a thread
  int classes = 1;            // neighbouring rows that begin at different places within 16 bytes
  int bytes_a_column = 0;     // of all streams together
  bool sums_columns = false;  // a float a column and group when all rows are done
};

// How a multiprocessor is filled.
struct Filling {
  int threads = 512;           // of a block, or more where a row needs them: fewer blocks then
  int blocks = 1;              // of a multiprocessor
  int ring_bytes = 200 << 10;  // of a multiprocessor
  int chunk = 0;               // rows of a group; 0: blocks stay and take rows in turn
  int waves = 0;  // so many blocks follow one another where each has enough rows; else they stay
  int shared_vectors = 0;  // floats a column beside the ring
};

struct Plan {
  Layout layout;
  int block_threads = 0;
  int dynamic_shared_bytes = 0;
};

// A row for each group and no ring, `of_thread` columns a thread.
Plan plan_directly(int of_thread, std::int64_t rows, int n_cols, float eps);

// The same with no more blocks than run at once: they take rows in turn.
Plan plan_ahead(int of_thread, std::int64_t rows, int n_cols, float eps, const Machine& machine);

// Nothing where a cluster's registers do not hold a row.
std::optional<Plan> plan(const Need& need, const Filling& filling, const Machine& machine);

}  // namespace assay::norm_parts
