#include "launch.cuh"

namespace assay::flash_portable {

Launcher fp16() { return launcher<__half>(); }

}  // namespace assay::flash_portable
