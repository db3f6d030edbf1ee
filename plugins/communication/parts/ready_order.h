#pragma once

#include <ATen/core/Tensor.h>
#include <assay/communication.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace assay::communication {

// Several parameters whose gradients travel together.
using Item = std::vector<std::size_t>;

// Launches items in one order on every rank, each as soon as its gradients and those of the items
// before it are complete.
//
// The first backward observes in which order, and by how many contributions, gradients become
// complete: a parameter of two checkpointed blocks gets two. Nothing is launched in it until it has
// ended. Then the ranks agree on an order that serves them all.
class ReadyOrder {
 public:
  // trained: the parameters that require gradients, by their numbers among the model's `count`.
  ReadyOrder(std::vector<std::size_t> trained, std::size_t count);

  // The trained parameters, last first until the ranks have agreed, and then as they become ready.
  const std::vector<std::size_t>& parameters() const { return order_; }

  // items: every trained parameter once, in the order of their launches.
  void arrange(std::vector<Item> items, std::function<void(std::size_t item)> launch);

  void begin();
  // One contribution to the parameter's gradient. Throws std::runtime_error where the gradient has
  // been launched already.
  void ready(std::size_t parameter);
  // Launches what is left. True at the end of the first backward: the ranks have agreed, and
  // parameters() are in the order of the next one.
  bool finish(const Group& group, at::Device device);

 private:
  void launch_ready();
  void agree(const Group& group, at::Device device);

  std::vector<std::size_t> order_;
  std::vector<Item> items_;
  std::vector<std::size_t> item_of_;  // by parameter
  std::function<void(std::size_t)> launch_;
  bool observes_ = true;
  std::int64_t seen_ = 0;               // contributions of this backward
  std::vector<std::int64_t> position_;  // in the observed backward, of the last contribution; -1
  std::vector<std::int64_t> counts_;    // contributions so far
  std::vector<std::int64_t> expected_;
  std::vector<std::size_t> missing_;  // parameters of each item that are not complete
  std::size_t next_ = 0;              // the next item to launch
};

}  // namespace assay::communication
