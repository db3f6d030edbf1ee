#pragma once

#include <chrono>
#include <string>

#include "wire/channel.h"

namespace assay::wire {

// An error of the machine: what failed, and what errno says.
tl::unexpected<Error> system_failure(const std::string& what);

// A socket connected to "host:port". ExitCode::bad_input where that is no address.
Result<Descriptor> connected_socket(const std::string& address, std::chrono::milliseconds wait);

}  // namespace assay::wire
