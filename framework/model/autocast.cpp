#include "model/autocast.h"

#include <ATen/autocast_mode.h>

namespace assay::model {

namespace autocast = at::autocast;

Autocast::Autocast(at::Device device, std::optional<at::ScalarType> dtype)
    : device_(device.type()), active_(dtype.has_value()) {
  if (!active_) return;
  was_enabled_ = autocast::is_autocast_enabled(device_);
  was_caching_ = autocast::is_autocast_cache_enabled();
  old_dtype_ = autocast::get_autocast_dtype(device_);
  autocast::set_autocast_enabled(device_, true);
  autocast::set_autocast_dtype(device_, *dtype);
  autocast::set_autocast_cache_enabled(true);
  autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(device_, was_enabled_);
  autocast::set_autocast_dtype(device_, old_dtype_);
  autocast::set_autocast_cache_enabled(was_caching_);
}

}  // namespace assay::model
