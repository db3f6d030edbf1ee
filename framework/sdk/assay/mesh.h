#pragma once

#include <assay/plugin.h>
#include <assay/record.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace assay {

// Ranks that meet in collectives: all of a case, or a named group of its mesh.
struct Group {
  int rank = 0;  // within the group
  int size = 1;
  c10::intrusive_ptr<c10d::Backend> backend;  // null when size is 1
};

// The named groups of a case's ranks, as one rank sees them. "world" holds all ranks. A launcher
// may lay them out along axes, such as "data" and "shard": the group of an axis holds the ranks
// that differ from this one in that axis alone.
class Mesh {
 public:
  using Make = std::function<Status(const std::string& name, Group& group)>;

  // One rank.
  Mesh() : Mesh(Group()) {}
  explicit Mesh(Group world)
      : names_({"world"}), make_([world = std::move(world)](const std::string&, Group& group) {
          group = world;
          return Status();
        }) {}
  // names: "world" among them. make: called for one of them, gives the same group each time.
  Mesh(std::vector<std::string> names, Make make)
      : names_(std::move(names)), make_(std::move(make)) {}

  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  // The group's backend is made on first use, by all its ranks together. Throws
  // std::invalid_argument for a name beyond names(), PluginFailure where the ranks do not meet.
  Group group(const std::string& name) const {
    if (!has(name)) {
      std::string known;
      for (const auto& each : names_) known += (known.empty() ? "" : ", ") + each;
      throw std::invalid_argument("the ranks have no group '" + name + "'; they have: " + known);
    }
    Group group;
    throw_unless_ok(make_(name, group));
    return group;
  }
  Group world() const { return group("world"); }
  // All ranks where they are not laid out along that axis.
  Group group_or_world(const std::string& name) const { return group(has(name) ? name : "world"); }

 private:
  std::vector<std::string> names_;
  Make make_;
};

// Calls of one collective, and their payload: the bytes of the tensor that a rank ends or starts
// with whole. That is the input of all_reduce, reduce, broadcast, reduce_scatter, scatter, send and
// all_to_all, and the output of all_gather, gather and receive.
struct Sent {
  std::string collective;  // "all_reduce"
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
};

// Counts what one rank sends. Any thread may call it.
class Traffic {
 public:
  void add(const std::string& collective, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    Sent& sent = sent_[collective];
    sent.collective = collective;
    ++sent.calls;
    sent.bytes += bytes;
  }
  // By name.
  std::vector<Sent> sent() const {
    const std::lock_guard lock(mutex_);
    std::vector<Sent> all;
    for (const auto& [name, sent] : sent_) all.push_back(sent);
    return all;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    sent_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Sent> sent_;
};

// The same groups; their collectives are counted in `traffic` and are spans of `trace`, whose part
// is the collective and whose lane is the group. Spans in the lane "<group> waits" are how long the
// caller does nothing else: "wait", its stream on a GPU and the host on a CPU, and there "launch".
inline constexpr const char* waits_lane = " waits";  // behind the group's name
Mesh counted(const Mesh& mesh, std::shared_ptr<Traffic> traffic, TraceHandle trace = {});

}  // namespace assay
