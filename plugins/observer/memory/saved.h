#pragma once

namespace assay::memory {

// While one lives, autograd reports what it saves for a backward to the Observation of the thread
// that saves: LibTorch asks its engine for hooks of saved tensors. What was saved keeps its hooks.
class SavedTensors {
 public:
  SavedTensors();
  ~SavedTensors();
  SavedTensors(const SavedTensors&) = delete;
  SavedTensors& operator=(const SavedTensors&) = delete;
};

}  // namespace assay::memory
