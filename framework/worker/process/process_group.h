#pragma once

#include <assay/communication.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::worker {

// An axis along which ranks are laid out, as a grid whose last axis varies fastest.
struct MeshAxis {
  std::string name;  // "data", "shard"
  int size = 1;
};

// This worker's place among its job's ranks, from the launch engines' variables.
struct Placement {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;            // ranks on this node
  std::string own_host = "127.0.0.1";  // at which other ranks reach this one
  std::string rendezvous_host = "127.0.0.1";
  int rendezvous_port = 0;
  std::optional<int> rendezvous_socket;  // already bound to that port; the host gives it to rank 0
  // Their sizes multiply to world_size. Empty: the ranks have no order but the world's.
  std::vector<MeshAxis> axes = {};
};

Placement placement_from_environment();

// The ranks' process groups, one a backend and group of the mesh, made on first use and kept for
// the worker's life.
class ProcessGroups {
 public:
  explicit ProcessGroups(Placement placement);
  ~ProcessGroups();
  ProcessGroups(const ProcessGroups&) = delete;
  ProcessGroups& operator=(const ProcessGroups&) = delete;

  // backend: "gloo", "nccl", or "none" with one rank. Throws c10::Error when the ranks do not meet,
  // Unsupported where NCCL is not possible.
  Group get(const std::string& backend, const at::Device& device);
  // "world", which get() gives, and a group for each axis of the placement, made on first use by
  // all its ranks together. Must not outlive this. Throws std::invalid_argument where the axes do
  // not fit the world or share a name.
  Mesh mesh(const std::string& backend, const at::Device& device);

 private:
  // ranks: of the world, in order, this one among them. prefix: the group's own in the store.
  Group make(const std::string& prefix, const std::vector<int>& ranks, const std::string& backend,
             const at::Device& device);
  std::vector<int> ranks_along(std::size_t axis) const;

  Placement placement_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::map<std::string, c10::intrusive_ptr<c10d::Backend>> backends_;
};

void barrier(const Group& group);

// Largest of the ranks' values, infinity included. All ranks call it together; `device` is the one
// they measure on.
double worst_of_ranks(const Group& group, const at::Device& device, double value);

// The same for who knows no ranks; empty for one rank. `group` must outlive it.
std::function<double(double)> worst_among(const Group& group, const at::Device& device);

// A number that all ranks share, from numbers that each has drawn; not 0. All call it together.
std::uint64_t common_number(const Group& group, const at::Device& device, std::uint64_t own);

}  // namespace assay::worker
