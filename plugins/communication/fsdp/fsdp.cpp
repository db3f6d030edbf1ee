#include <ATen/core/grad_mode.h>
#include <assay/communication.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

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
    const bool keeps = at::GradMode::is_enabled() && is_kept_after_forward(block);
    leave(block, [&](const Unit& unit) { return !keeps && is_free_after_forward(unit, block); });
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
    // Parameters go before the whole gradients come.
    leave(block, [&](const Unit& unit) { return is_free_after_backward(unit, block); });
    Unit& own = *units_[index(unit_of_block_[index(block)])];
    // A parameter that later units use, too, belongs to the first, whose backward is the last.
    if (own.first_block() == block) reduce(own);
  }
  void backward_finished() override {
    for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit) reduce(**unit);
    finish_reducing();
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

  std::optional<assay::Sharing> sharing() override {
    const std::vector<int> gathers = gathers_of_a_step();
    double gathered = 0, all = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const double bytes = units_[i]->gathered_bytes();
      gathered += gathers[i] * bytes;
      all += bytes;
    }
    return {{.parameters = true,
             .gradients = true,
             .moments = true,
             .gradient_bytes = gradients_ == "bf16" ? 2.0 : 4.0,
             .gradient_rounds = 1,
             .parameter_rounds = gathered / all}};
  }
  bool wants_blocks() const override { return true; }
  bool capturable() const override { return true; }

 private:
  // Of a block or a unit.
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  // The last unit's backward follows its forward.
  bool is_kept_after_forward(int block) const { return !reshards_ || units_.back()->has(block); }
  // A unit whose parameters a block of another unit has used, too, is not needed by the next block.
  static bool is_free_after_forward(const Unit& unit, int block) {
    return unit.last_block() == block || !unit.has(block);
  }
  bool is_free_after_backward(const Unit& unit, int block) const {
    return unit.first_block() == block || (!unit.has(block) && reshards_);
  }

  // By unit, in a step that trains.
  std::vector<int> gathers_of_a_step() const {
    std::vector<int> gathers(units_.size(), 0);
    std::vector<bool> is_there(units_.size(), false);
    const auto pass = [&](int block, const auto& is_free) {
      for (const int number : used_by_[index(block)]) {
        const std::size_t i = index(number);
        if (!is_there[i]) ++gathers[i];
        is_there[i] = !is_free(*units_[i]);
      }
    };
    const int blocks = static_cast<int>(used_by_.size());
    for (int block = 0; block < blocks; ++block) {
      pass(block, [&](const Unit& unit) {
        return !is_kept_after_forward(block) && is_free_after_forward(unit, block);
      });
    }
    if (first_trained_ == static_cast<int>(units_.size())) return gathers;
    const int first = units_[index(first_trained_)]->first_block();
    for (int block = blocks - 1; block >= first; --block) {
      pass(block, [&](const Unit& unit) { return is_free_after_backward(unit, block); });
    }
    return gathers;
  }

  void add_unit(const assay::TrainedModel& model, int first, int last, std::vector<int>& unit_of) {
    using Kind = std::tuple<bool, at::ScalarType, at::ScalarType>;
    std::map<Kind, std::vector<std::size_t>> alike;
    const int number = static_cast<int>(units_.size());
    auto unit = std::make_unique<Unit>(group_, first, last);
    std::vector<int> used_by_unit = {number};
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
      for (const int other : used) {
        if (std::ranges::count(used_by_unit, other) == 0) used_by_unit.push_back(other);
      }
      unit_of_block_.push_back(number);
      used_by_.push_back(std::move(used));
    }
    used_by_unit_.push_back(std::move(used_by_unit));
    for (auto& [kind, parameters] : alike) {
      unit->add(model, std::move(parameters),
                assay::communication::gradient_dtype(gradients_, std::get<1>(kind)));
    }
    units_.push_back(std::move(unit));
  }

  void use(int block) {
    for (const int number : used_by_[index(block)]) {
      Unit& unit = *units_[index(number)];
      ++unit.users;
      unit.start_gather(gather_stream_);
    }
    for (const int number : used_by_[index(block)]) {
      units_[index(number)]->finish_gather();
    }
  }

  // And what their blocks use of other units. step: 1 or -1, the direction in which units are used.
  void gather_ahead(int unit, int step) {
    const int last = step > 0 ? static_cast<int>(units_.size()) - 1 : first_trained_;
    for (int ahead = 1; ahead <= prefetch_; ++ahead) {
      const int next = unit + step * ahead;
      if (step > 0 ? next > last : next < last) return;
      for (const int number : used_by_unit_[index(next)]) {
        units_[index(number)]->start_gather(gather_stream_);
      }
    }
  }

  void leave(int block, const auto& is_free) {
    for (const int number : used_by_[index(block)]) {
      Unit& unit = *units_[index(number)];
      if (--unit.users == 0 && is_free(unit)) unit.release();
    }
  }

  // One unit at a time: its whole gradients take as much memory as a block's activations.
  void reduce(Unit& unit) {
    finish_reducing();
    if (unit.start_reduce()) reducing_ = &unit;
  }
  void finish_reducing() {
    if (reducing_ != nullptr) std::exchange(reducing_, nullptr)->finish_reduce();
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
  std::vector<std::vector<int>> used_by_;       // units by block, its own first
  std::vector<std::vector<int>> used_by_unit_;  // the same of all blocks of a unit
  int first_trained_ = 0;                       // unit
  Unit* reducing_ = nullptr;                    // whose gradients are under way
  bool in_backward_ = false;
};

}  // namespace

ASSAY_PLUGIN(Fsdp, "fsdp",
             "Parameters, gradients and optimizer state in shards of a unit of blocks, gathered "
             "ahead of their use.")
