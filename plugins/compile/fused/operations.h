#pragma once

#include <assay/compile.h>

#include <memory>

#include "compile/fused_parts/products.h"

namespace assay::fused {

// What a variant's operations share.
struct Shared {
  std::shared_ptr<MatrixProduct> product = std::make_shared<MatrixProduct>();
  std::shared_ptr<WeightCopies> copies = std::make_shared<WeightCopies>();
};

// Puts own kernels in the place of what a model has beside attention: of the norm where it is not
// pinned and an RMSNorm, of the others where they are the textbook's, so not where a precision has
// wrapped them. Each leaves inputs that it does not take to the operation that it replaces.
void select(Ops& ops, const Pinned& pinned, const Shared& shared);

// Whether weights change only as tensor operations or the optimizer's kernel change them, so that
// their copies can be kept: on one rank, where the communication variant gives parameters no memory
// of its own.
bool can_keep_copies(const CaseContext& context);

}  // namespace assay::fused
