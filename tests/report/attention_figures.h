#pragma once

namespace assay::report::testing_support {

// Two variants at two lengths; naive runs out of memory at the larger.
inline const char* const attention =
    "seq_len,attention,pass,time.mean [ms],time.std [ms],peak_memory.mean [MiB],outcome,reason\n"
    "128,naive,forward,2,0.5,10,,\n"
    "128,naive,backward,6,1,,,\n"
    "128,flash,forward,1,0.25,4,,\n"
    "128,flash,backward,3,0.5,,,\n"
    "256,naive,forward,,,,oom,2 GiB requested\n"
    "256,naive,backward,,,,oom,2 GiB requested\n"
    "256,flash,forward,1.5,0.25,8,,\n"
    "256,flash,backward,4,0.5,,,\n";

}  // namespace assay::report::testing_support
