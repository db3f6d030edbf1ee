#pragma once

#include <assay/communication.h>

#include <vector>

namespace assay::training {

// Parameters and gradients that lie in slices on several ranks (Communication::slices()).
class Shards {
 public:
  // communication must be attached to `model`; world: all ranks. Without slices the parameters are
  // whole on every rank.
  Shards(TrainedModel model, CommunicationHandle communication, Group world);

  bool are_whole() const { return !slices_; }

  // Every parameter in its own shape and in fp32, or fp64 where it has that. All ranks call these
  // together; each holds 64 MiB or one parameter more than the result for a while. Throws
  // std::runtime_error for elements that are in no rank's slice, or on a piece beyond its parameter
  // or slice.
  std::vector<at::Tensor> gather_parameters() const;
  // Undefined where no rank has a gradient, 0 for elements whose owner has none.
  std::vector<at::Tensor> gather_gradients() const;
  // Bytes of this rank's device that either of them needs; 0 where parameters are whole.
  std::int64_t gathering_bytes() const;
  // Copies values of any dtype into this rank's slices and lets the variant spread them.
  void load(const std::vector<at::Tensor>& parameters);

 private:
  static void load(const Slice& slice, const std::vector<at::Tensor>& parameters);
  std::vector<at::Tensor> gather(bool gradient) const;
  // Parameters first to last - 1 with few collectives, appended.
  void gather(std::size_t first, std::size_t last, bool gradient,
              std::vector<at::Tensor>& whole) const;

  TrainedModel model_;
  CommunicationHandle communication_;
  Group world_;
  std::optional<std::vector<Slice>> slices_;
};

}  // namespace assay::training
