#include <assay/communication.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>
#include <vector>

#include "communication/parts/collectives.h"

namespace {

using c10d::ProcessGroup;

// Hands collectives on and keeps their works. The Reducer waits for futures alone, and a work of
// NCCL holds its tensors until it is waited for itself or the group is called again.
class KeptWorks final : public c10d::Backend {
 public:
  explicit KeptWorks(c10::intrusive_ptr<c10d::Backend> backend)
      : Backend(backend->getRank(), backend->getSize()), backend_(std::move(backend)) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    works_.push_back(backend_->allreduce(tensors, options));
    return works_.back();
  }
  // By which ranks agree on the buckets.
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return backend_->broadcast(tensors, options);
  }

  ~KeptWorks() override {
    static_cast<void>(assay::guarded([this] { let_go(); }));
  }

  // Call after the backward, whose end the Reducer has made wait for them.
  void let_go() {
    for (const auto& work : std::exchange(works_, {})) work->wait();
  }

 private:
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

// LibTorch's own Reducer, which PyTorch's DistributedDataParallel drives: here as it does with
// `static_graph=True` and `gradient_as_bucket_view=True`, its fastest setting. The first backward
// counts gradients and reduces them all at its end; then the buckets are made anew in the order in
// which gradients became ready. It knows no work of one rank.
class Reducer final : public assay::Communication {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {assay::communication::bucket_size_option(
        c10d::kDefaultBucketBytesCap, "Largest bucket; the first one has at most 1 MiB.")};
  }
  explicit Reducer(const assay::Options& options)
      : bucket_bytes_(assay::integer_option(options, "bucket_size")) {}

  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle trace) override {
    trace_ = trace;
    const assay::Group group = mesh.world();
    assay::communication::start_from_rank_zero(model, group);
    if (group.size == 1) return;
    std::vector<at::Tensor> trained;
    std::unordered_map<std::size_t, std::string> names;
    for (const auto& parameter : model.parameters) {
      if (!parameter.tensor.requires_grad()) continue;
      names[trained.size()] = parameter.name;
      trained.push_back(parameter.tensor);
    }
    if (trained.empty()) return;
    const std::vector<bool> sparse(trained.size(), false);
    const auto first = std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, bucket_bytes_);
    auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
        trained, {static_cast<std::size_t>(first), static_cast<std::size_t>(bucket_bytes_)},
        sparse));
    std::reverse(buckets.begin(), buckets.end());
    reducer_ = std::make_unique<c10d::Reducer>(
        trained, std::move(buckets), process_group(group, trained.front().device().type()), sparse,
        bucket_bytes_, /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true,
        std::move(names), first, /*skip_all_reduce_unused_params=*/false,
        /*use_python_reducer=*/false, std::vector<std::int64_t>());
    reducer_->set_static_graph();
  }

  void backward_begins(const at::Tensor&) override {
    if (!reducer_) return;
    reducer_->rebuild_buckets();
    reducer_->prepare_for_backward({});
  }
  void backward_finished() override {
    if (!reducer_) return;
    if (std::exchange(is_first_, false)) reducer_->delay_all_reduce();
    // These waits are not the Reducer's: no span shall tell of them.
    if (!trace_.takes_spans()) works_->let_go();
  }

  std::optional<assay::Sharing> sharing() override { return {{.gradient_rounds = 2}}; }

 private:
  // The Reducer asks for a process group, which hands collectives on to the backend of a device.
  c10::intrusive_ptr<ProcessGroup> process_group(const assay::Group& group,
                                                 c10::DeviceType device) {
    auto made = c10::make_intrusive<ProcessGroup>(group.rank, group.size);
    const auto type = group.backend->getBackendName() == "nccl" ? ProcessGroup::BackendType::NCCL
                                                                : ProcessGroup::BackendType::GLOO;
    works_ = c10::make_intrusive<KeptWorks>(group.backend);
    made->setBackend(device, type, works_);
    made->setDefaultBackend(type);
    return made;
  }

  std::int64_t bucket_bytes_;
  assay::TraceHandle trace_;
  c10::intrusive_ptr<KeptWorks> works_;
  std::unique_ptr<c10d::Reducer> reducer_;
  bool is_first_ = true;
};

}  // namespace

ASSAY_PLUGIN(Reducer, "reducer", "LibTorch's c10d Reducer, as DistributedDataParallel drives it.")
