#pragma once

namespace assay {

// Puts a kernel that does nothing on the current stream of the current device. Throws c10::Error
// where it cannot be launched.
void launch_empty_kernel();

}  // namespace assay
