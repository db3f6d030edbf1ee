#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace assay::measure {

// One rank of a Gloo group. host: this machine's address at which the other ranks reach it. Returns
// once all ranks have met at the store. Calls on the group throw when other ranks do not join
// within `timeout`. In a translation unit of its own: LibTorch ships no Gloo headers.
c10::intrusive_ptr<c10d::Backend> make_gloo(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout = kBackendDefaultTimeout,
    const std::string& host = "127.0.0.1");

}  // namespace assay::measure
