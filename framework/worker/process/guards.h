#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "wire/channel.h"
#include "wire/status_page.h"

namespace assay::worker {

// What protects a worker process, and tells its host why it ends. One a process, for its life: what
// signals and forks reach lies in the process, not in the object.
//  - A segmentation fault leaves its cause in the status page: the address, or that the stack of
//  the
//    main thread overflowed.
//  - A question of the host is answered there, whatever the main thread does.
//  - A child that a plugin forks has no connection to the host.
//  - Nothing dumps core; descendants that leave their parent become this process' children.
class Guards {
 public:
  explicit Guards(const wire::Channel& channel);
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  // The group whose collectives are counted; null: none. It must live until the next call.
  static void watch(c10d::Backend* group);

 private:
  wire::SharedStatus status_;
};

// Whether processes that this one or a plugin has started still run. Those that have ended are
// waited for.
bool descendants_are_left();

}  // namespace assay::worker
