#pragma once

#include <assay/compile.h>

#include <string>

namespace assay::compile {

// Records a whole pass once and replays it: the host launches one graph instead of every kernel.
// `before` is recorded too, in a graph of its own. Runs the pass a few times first. Throws
// Unsupported, by the variant's name, for what cannot be captured.
Step captured_step(ProgramHandle program, const std::string& pass, const CaseContext& context,
                   const std::string& variant);

}  // namespace assay::compile
