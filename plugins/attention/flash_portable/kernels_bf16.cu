#include "launch.cuh"

namespace assay::flash_portable {

Launcher bf16() { return launcher<__nv_bfloat16>(); }

}  // namespace assay::flash_portable
