#pragma once

#include <assay/ops.h>

namespace assay::model {

// Textbook versions of all operations except attention and norm, and of those that complete()
// derives. Floating-point inputs of any dtype; rope and loss compute in fp32 or wider.
Ops textbook_ops();

// Derives an empty add_norm from norm, and empty qkv and gate_up from linear.
void complete(Ops& ops);

}  // namespace assay::model
