#include <ATen/core/grad_mode.h>
#include <assay/communication.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "communication/parts/collectives.h"
#include "communication/parts/flat_parameters.h"
#include "unit.h"

namespace {

using assay::Slice;
using assay::communication::Shard;
using assay::communication::Unit;

// Parameters, gradients and optimizer state in shards, by units of blocks (FSDP; Zhao et al. 2023).
// A unit's parameters are gathered ahead of its use, in the dtype the model computes in, while the
// unit before it computes; its gradients are reduce-scattered behind it, while the next one does.
class Fsdp final : public assay::Communication {
 public:
  static std::vector<assay::ParameterInfo> options() {
    using assay::boolean_parameter, assay::integer_parameter;
    return {integer_parameter("blocks", 1, 1, 1024, "Blocks of a unit, which is gathered whole."),
            integer_parameter("prefetch", 1, 0, 16, "Units that are gathered ahead of their use."),
            boolean_parameter("reshard_after_forward", true,
                              "Frees a unit after its forward and gathers it again for its "
                              "backward; else it stays from the one to the other."),
            assay::communication::gradients_option()};
  }
  explicit Fsdp(const assay::Options& options)
      : blocks_(static_cast<int>(assay::integer_option(options, "blocks"))),
        prefetch_(static_cast<int>(assay::integer_option(options, "prefetch"))),
        reshards_(assay::boolean_option(options, "reshard_after_forward")),
        gradients_(assay::text_option(options, "gradients")) {}

  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    group_ = mesh.world();
    assay::communication::start_from_rank_zero(model, group_);
    const at::Device device = model.parameters.front().tensor.device();
    if (!device.is_cpu() && group_.size > 1) {
      const c10::impl::VirtualGuardImpl guard(device.type());
      gather_stream_ = guard.getStreamFromGlobalPool(device);
    }
    std::vector<int> unit_of(model.parameters.size(), -1);
    const int count = static_cast<int>(model.blocks.size());
    for (int first = 0; first < count; first += blocks_) {
      add_unit(model, first, std::min(first + blocks_, count) - 1, unit_of);
    }
    const auto trained = std::find_if(units_.begin(), units_.end(),
                                      [](const auto& unit) { return unit->is_trained(); });
    first_trained_ = static_cast<int>(trained - units_.begin());
  }

  void before_forward(int block) override {
    // What a pass without a backward has left is gathered again: each pass pays for its own.
    if (block == 0 && !in_backward_) release_all();
    use(block);
    if (!in_backward_) gather_ahead(unit_of_block_[index(block)], 1);
  }
  void after_forward(int block) override {
    const bool is_last_unit = units_.back()->has(block);
    const bool keeps = at::GradMode::is_enabled() && (!reshards_ || is_last_unit);
    leave(block, [&](const Unit& unit) {
      return !keeps && (unit.last_block() == block || !unit.has(block));
    });
  }
  void backward_begins(const at::Tensor&) override {
    in_backward_ = true;
    for (const auto& unit : units_) unit->begin_backward();
  }
  void before_backward(int block) override {
    use(block);
    gather_ahead(unit_of_block_[index(block)], -1);
  }
  void after_backward(int block) override {
    Unit& own = *units_[static_cast<std::size_t>(unit_of_block_[index(block)])];
    // A parameter that later units use, too, belongs to the first, whose backward is the last.
    if (own.first_block() == block) reduce(own);
    leave(block, [&](const Unit& unit) {
      return unit.first_block() == block || (!unit.has(block) && reshards_);
    });
  }
  void backward_finished() override {
    for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) reduce(**unit);
    for (Unit* unit : reducing_) unit->finish_reduce();
    reducing_.clear();
    release_all();
  }

  std::optional<std::vector<Slice>> slices() override {
    std::vector<Slice> slices;
    for (const auto& unit : units_) {
      for (const Shard& shard : unit->shards()) {
        slices.push_back({.values = shard.own,
                          .pieces = shard.whole.pieces(group_.rank, shard.parameters),
                          .buffer = shard.name,
                          .first = group_.rank * shard.whole.slice_elements(),
                          .frozen = !shard.trained});
      }
    }
    return slices;
  }
  void sum_over_owners(at::Tensor& value) override {
    assay::communication::sum_over(group_, value);
  }
  void after_step() override { release_all(); }

  // The last unit's backward follows its forward, so that it is gathered once.
  std::optional<assay::Sharing> sharing() override {
    double all = 0, last = 0;
    for (const auto& unit : units_) {
      last = 0;
      for (const Shard& shard : unit->shards()) last += static_cast<double>(shard.whole.elements());
      all += last;
    }
    return {{.parameters = true,
             .gradients = true,
             .moments = true,
             .gradient_bytes = gradients_ == "bf16" ? 2.0 : 4.0,
             .gradient_rounds = 1,
             .parameter_rounds = reshards_ ? 2 - last / all : 1}};
  }
  bool wants_blocks() const override { return true; }
  bool capturable() const override { return true; }

 private:
  // Reduce-scatters under way at once; each holds a unit's whole gradients.
  static constexpr std::size_t most_reducing = 2;

  static std::size_t index(int block) { return static_cast<std::size_t>(block); }

  void add_unit(const assay::TrainedModel& model, int first, int last, std::vector<int>& unit_of) {
    using Kind = std::tuple<bool, at::ScalarType, at::ScalarType>;
    std::map<Kind, std::vector<std::size_t>> alike;
    const int number = static_cast<int>(units_.size());
    auto unit = std::make_unique<Unit>(group_, first, last);
    for (int block = first; block <= last; ++block) {
      std::vector<int> used = {number};
      for (const std::size_t i : model.blocks[index(block)].parameters) {
        const auto& parameter = model.parameters[i];
        if (unit_of[i] < 0) {
          alike[{parameter.tensor.requires_grad(), parameter.tensor.scalar_type(),
                 parameter.compute}]
              .push_back(i);
          unit_of[i] = number;
        }
        if (std::find(used.begin(), used.end(), unit_of[i]) == used.end()) {
          used.push_back(unit_of[i]);
        }
      }
      unit_of_block_.push_back(number);
      used_by_.push_back(std::move(used));
    }
    for (auto& [kind, parameters] : alike) {
      unit->add(model, std::move(parameters),
                assay::communication::gradient_dtype(gradients_, std::get<1>(kind)));
    }
    units_.push_back(std::move(unit));
  }

  void use(int block) {
    for (const int number : used_by_[index(block)]) {
      Unit& unit = *units_[static_cast<std::size_t>(number)];
      ++unit.users;
      unit.start_gather(gather_stream_);
    }
    for (const int number : used_by_[index(block)]) {
      units_[static_cast<std::size_t>(number)]->finish_gather();
    }
  }

  // step: 1 or -1, the direction in which units are used.
  void gather_ahead(int unit, int step) {
    const int last = step > 0 ? static_cast<int>(units_.size()) - 1 : first_trained_;
    for (int ahead = 1; ahead <= prefetch_; ++ahead) {
      const int next = unit + step * ahead;
      if (step > 0 ? next > last : next < last) return;
      units_[static_cast<std::size_t>(next)]->start_gather(gather_stream_);
    }
  }

  void leave(int block, const auto& is_free) {
    for (const int number : used_by_[index(block)]) {
      Unit& unit = *units_[static_cast<std::size_t>(number)];
      if (--unit.users == 0 && is_free(unit)) unit.release();
    }
  }

  void reduce(Unit& unit) {
    if (reducing_.size() == most_reducing) {
      reducing_.front()->finish_reduce();
      reducing_.pop_front();
    }
    if (unit.start_reduce()) reducing_.push_back(&unit);
  }

  void release_all() {
    in_backward_ = false;
    for (const auto& unit : units_) {
      unit->users = 0;
      unit->release();
    }
  }

  int blocks_;
  int prefetch_;
  bool reshards_;
  std::string gradients_;
  assay::Group group_;
  std::optional<c10::Stream> gather_stream_;  // of a GPU
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<int> unit_of_block_;
  std::vector<std::vector<int>> used_by_;  // units by block, its own first
  int first_trained_ = 0;                  // unit
  std::deque<Unit*> reducing_;
  bool in_backward_ = false;
};

}  // namespace

ASSAY_PLUGIN(Fsdp, "fsdp",
             "Parameters, gradients and optimizer state in shards of a unit of blocks, gathered "
             "ahead of their use.")
