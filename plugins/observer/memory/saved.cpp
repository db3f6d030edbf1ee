#include "saved.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>
#include <optional>

#include "observation.h"

namespace assay::memory {

namespace {

using torch::autograd::Engine;
using torch::autograd::SavedVariableHooks;

// The calling thread's observation, kept alive: what is saved may outlive it.
std::shared_ptr<Observation> shared_observation() {
  Observation* observation = Observation::current();
  return observation == nullptr ? nullptr : observation->shared_from_this();
}

class Hooks final : public SavedVariableHooks {
 public:
  explicit Hooks(std::shared_ptr<Observation> observation) : observation_(std::move(observation)) {}
  ~Hooks() override {
    if (storage_ != nullptr) observation_->release(storage_);
  }
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  void call_pack_hook(const at::Tensor& tensor) override {
    // Without its graph: a node that saves its own output would keep itself alive.
    tensor_ = tensor.variable_data();
    if (observation_->save(tensor)) storage_ = tensor.storage().unsafeGetStorageImpl();
  }
  at::Tensor call_unpack_hook() override { return tensor_; }

 private:
  std::shared_ptr<Observation> observation_;
  at::Tensor tensor_;
  const void* storage_ = nullptr;
};

class ObservedEngine final : public Engine {
 public:
  ObservedEngine() = default;
  ~ObservedEngine() override { stop(); }

  std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
    auto observation = shared_observation();
    return observation == nullptr ? nullptr : std::make_unique<Hooks>(std::move(observation));
  }

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs,
                                         bool keep_graph, bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    if (Observation* observation = Observation::current()) observation->backward_begins();
    return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
};

// LibTorch's threads may refer to an engine until the process ends.
Engine& observed_engine() {
  static auto* const engine = new ObservedEngine();
  return *engine;
}

}  // namespace

SavedTensors::SavedTensors() { torch::autograd::set_default_engine_stub(&observed_engine); }

SavedTensors::~SavedTensors() {
  torch::autograd::set_default_engine_stub(&Engine::get_base_engine);
}

}  // namespace assay::memory
