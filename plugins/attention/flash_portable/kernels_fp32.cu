#include "launch.cuh"

namespace assay::flash_portable {

Launcher fp32() { return launcher<float>(); }

}  // namespace assay::flash_portable
