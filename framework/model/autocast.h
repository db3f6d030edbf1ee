#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace assay::model {

// While one lives, this thread's matrix products run in `dtype` (LibTorch's autocast) and each
// parameter is converted once. The destructor drops the converted copies. Does nothing without a
// dtype.
class Autocast {
 public:
  Autocast(at::Device device, std::optional<at::ScalarType> dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool active_;
  bool was_enabled_ = false;
  bool was_caching_ = false;
  at::ScalarType old_dtype_ = at::kFloat;
};

}  // namespace assay::model
