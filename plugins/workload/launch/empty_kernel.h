#pragma once

namespace assay {

// Launches a kernel that does nothing on the current stream. Throws c10::Error on failure.
void launch_empty_kernel();

}  // namespace assay
