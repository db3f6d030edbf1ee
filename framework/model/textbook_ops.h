#pragma once

#include <assay/ops.h>

namespace assay::model {

// Every operation as a textbook writes it, from LibTorch's own, except attention and norm, which
// come from plugins. Floating-point inputs of any dtype; rope and loss compute in fp32 at least.
Ops textbook_ops();

// Fills add_norm, where it is empty, from norm: an addition and then the normalisation.
void complete(Ops& ops);

}  // namespace assay::model
