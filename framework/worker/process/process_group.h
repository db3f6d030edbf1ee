#pragma once

#include <assay/communication.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace assay::worker {

// This worker's place among its job's ranks, from the launch engines' variables.
struct Placement {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string rendezvous_host = "127.0.0.1";
  int rendezvous_port = 0;
  std::optional<int> rendezvous_socket;  // already bound to that port; the host gives it to rank 0
};

Placement placement_from_environment();

// The ranks' process groups, one a backend, made on first use and kept for the worker's life.
class ProcessGroups {
 public:
  explicit ProcessGroups(Placement placement);
  ~ProcessGroups();
  ProcessGroups(const ProcessGroups&) = delete;
  ProcessGroups& operator=(const ProcessGroups&) = delete;

  // backend: "gloo", "nccl", or "none" with one rank. Throws c10::Error when the ranks do not meet,
  // Unsupported where NCCL is not possible.
  Group get(const std::string& backend, const at::Device& device);

 private:
  Placement placement_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::map<std::string, c10::intrusive_ptr<c10d::Backend>> backends_;
};

void barrier(const Group& group);

// Largest of the ranks' values, infinity included. All ranks call it together; `device` is the one
// they measure on.
double worst_of_ranks(const Group& group, const at::Device& device, double value);

}  // namespace assay::worker
