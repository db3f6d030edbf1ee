#include "worker/process/process_group.h"

#include <ATen/ops/full.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "measure/gloo.h"
#include "wire/messages.h"

#ifdef USE_C10D_NCCL
#include "worker/process/nccl_group.h"
#endif

namespace assay::worker {

namespace {

constexpr std::chrono::seconds rendezvous_limit(60);
// The host ends a case that takes too long and knows which rank is missing; a rank that times out
// on its own does not.
constexpr std::chrono::milliseconds collective_limit = std::chrono::hours(24);

int integer_variable(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const at::Device& device) {
#ifdef USE_C10D_NCCL
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = collective_limit;
#ifdef NCCL_CTA_POLICY_ZERO
  // Gathers and exchanges of the group's own memory take copy engines, not multiprocessors.
  options->config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
#endif
  auto made = c10::make_intrusive<NcclGroup>(store, rank, size, options);
  made->setBoundDeviceId(device);  // a barrier would take the rank for the device
  return made;
#else
  static_cast<void>(store);
  static_cast<void>(device);
  throw Unsupported(fmt::format("NCCL is not part of this build (rank {} of {})", rank, size));
#endif
}

}  // namespace

Placement placement_from_environment() {
  Placement placement;
  placement.rank = integer_variable("RANK", 0);
  placement.world_size = integer_variable("WORLD_SIZE", 1);
  placement.local_rank = integer_variable("LOCAL_RANK", placement.rank);
  placement.local_world_size = integer_variable("LOCAL_WORLD_SIZE", placement.world_size);
  if (const char* host = std::getenv(wire::address_variable)) placement.own_host = host;
  if (const char* host = std::getenv("MASTER_ADDR")) placement.rendezvous_host = host;
  placement.rendezvous_port = integer_variable("MASTER_PORT", 0);
  if (const int socket = integer_variable(wire::rendezvous_variable, -1); socket >= 0) {
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    placement.rendezvous_socket = socket;
  }
  return placement;
}

ProcessGroups::ProcessGroups(Placement placement) : placement_(std::move(placement)) {}

// c10d warns of leaks at exit unless its groups are shut down.
ProcessGroups::~ProcessGroups() {
  for (auto& [name, backend] : backends_) static_cast<void>(guarded([&] { backend->shutdown(); }));
}

Group ProcessGroups::get(const std::string& backend, const at::Device& device) {
  std::vector<int> ranks(static_cast<std::size_t>(placement_.world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return make(backend, ranks, backend, device);
}

Mesh ProcessGroups::mesh(const std::string& backend, const at::Device& device) {
  std::vector<std::string> names = {"world"};
  int ranks = 1;
  for (const MeshAxis& axis : placement_.axes) {
    if (std::find(names.begin(), names.end(), axis.name) != names.end()) {
      throw std::invalid_argument(fmt::format("two groups of ranks are named '{}'", axis.name));
    }
    names.push_back(axis.name);
    ranks *= axis.size;
  }
  if (!placement_.axes.empty() && ranks != placement_.world_size) {
    throw std::invalid_argument(
        fmt::format("{} ranks are laid out on a mesh of {}", placement_.world_size, ranks));
  }
  const auto make_named = [this, names, backend, device](const std::string& name, Group& group) {
    return guarded([&] {
      const auto index =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      if (index == 0) {
        group = get(backend, device);
        return;
      }
      const std::vector<int> members = ranks_along(index - 1);
      group =
          make(fmt::format("{}/{}/{}", backend, name, members.front()), members, backend, device);
    });
  };
  return {names, make_named};
}

std::vector<int> ProcessGroups::ranks_along(std::size_t axis) const {
  int stride = 1;
  for (std::size_t i = axis + 1; i < placement_.axes.size(); ++i) stride *= placement_.axes[i].size;
  const int size = placement_.axes[axis].size;
  const int first = placement_.rank - placement_.rank / stride % size * stride;
  std::vector<int> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

Group ProcessGroups::make(const std::string& prefix, const std::vector<int>& ranks,
                          const std::string& backend, const at::Device& device) {
  const auto own = std::find(ranks.begin(), ranks.end(), placement_.rank);
  Group group{static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size()), nullptr};
  if (group.size == 1) return group;
  if (!store_) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(placement_.rendezvous_port);
    options.isServer = placement_.rank == 0;
    options.numWorkers = placement_.world_size;
    options.timeout = rendezvous_limit;
    options.masterListenFd = placement_.rendezvous_socket;
    store_ = c10::make_intrusive<c10d::TCPStore>(placement_.rendezvous_host, options);
  }
  auto& made = backends_[prefix];
  if (!made) {
    auto store = c10::make_intrusive<c10d::PrefixStore>(prefix, store_);
    if (backend == "nccl" && !device.is_cuda()) throw Unsupported("NCCL needs CUDA devices");
    made = backend == "nccl" ? make_nccl(store, group.rank, group.size, device)
                             : measure::make_gloo(store, group.rank, group.size, collective_limit,
                                                  placement_.own_host);
  }
  group.backend = made;
  return group;
}

void barrier(const Group& group) {
  if (group.backend) group.backend->barrier()->wait();
}

double worst_of_ranks(const Group& group, const at::Device& device, double value) {
  if (!group.backend) return value;
  const bool on_device = group.backend->getBackendName() == "nccl";
  std::vector<at::Tensor> values = {at::full(
      {1}, value, at::TensorOptions().dtype(at::kDouble).device(on_device ? device : at::kCPU))};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group.backend->allreduce(values, options)->wait();
  return values[0].item<double>();
}

std::function<double(double)> worst_among(const Group& group, const at::Device& device) {
  if (group.size == 1) return {};
  return [&group, device](double value) { return worst_of_ranks(group, device, value); };
}

std::uint64_t common_number(const Group& group, const at::Device& device, std::uint64_t own) {
  constexpr std::uint64_t exact_in_a_double = (std::uint64_t{1} << 52) - 1;
  const auto drawn = static_cast<double>(own & exact_in_a_double);
  return 1 + static_cast<std::uint64_t>(worst_of_ranks(group, device, drawn));
}

}  // namespace assay::worker
