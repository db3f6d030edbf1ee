#include <assay/communication.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "conformance/training_ranks.h"

namespace assay::conformance {

namespace {

constexpr int training_steps = 3;

void must_synchronize(const TrainingRank& rank, const BlockSetup& setup) {
  if (setup.ranks > 1 && !rank.traits().synchronizes) {
    throw Unsupported("it says that ranks train apart");
  }
}

CheckVerdict starts_alike(RankThreads& threads, const BlockSetup& setup) {
  const auto body = [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    rank.compare_parameters(verdict);
    rank.forward_alone(0, verdict);
  };
  return threads.run(setup, body, /*shift_of_other_ranks=*/1);
}

CheckVerdict averages(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    rank.backward(0, verdict);
    rank.compare_gradients(0, verdict);
  });
}

CheckVerdict trains(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    for (int step = 0; step < training_steps; ++step) {
      rank.backward(step, verdict);
      rank.compare_gradients(step, verdict);
      rank.update(step);
      rank.compare_parameters(verdict);
    }
    rank.forward_alone(training_steps, verdict);
  });
}

CheckVerdict agrees_on_norm(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    must_synchronize(rank, setup);
    rank.backward(0, verdict);
    rank.compare_gradient_norm(0, verdict);
  });
}

CheckVerdict trains_apart(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    if (setup.ranks > 1 && rank.traits().synchronizes) {
      throw Unsupported("it says that ranks train together");
    }
    rank.backward(0, verdict);
    rank.compare_own_gradients(0, verdict);
  });
}

CheckVerdict keeps_gradients(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int index, CheckVerdict& verdict) {
    if (!rank.traits().keeps_gradients) throw Unsupported("it keeps no gradients");
    rank.backward(0, verdict);
    const auto before = rank.gradient_addresses();
    rank.update(0);
    rank.backward(1, verdict);
    if (rank.gradient_addresses() != before) {
      verdict.complaint = fmt::format("rank {}'s gradients lie elsewhere in the next step", index);
    }
  });
}

// How many ranks have each element in a slice.
class OwnerCounts {
 public:
  explicit OwnerCounts(const BlockSetup& setup) : setup_(setup) {
    for (const auto& sizes : setup.parameters) {
      std::int64_t elements = 1;
      for (const std::int64_t length : sizes) elements *= length;
      owners_.emplace_back(static_cast<std::size_t>(elements), 0);
    }
  }

  void add(const std::optional<std::vector<Slice>>& slices) {
    const std::lock_guard lock(mutex_);
    if (!slices) {
      for (auto& owners : owners_) {
        for (int& count : owners) ++count;
      }
      return;
    }
    for (const Slice& slice : *slices) add(slice);
  }

  std::string complaint() const {
    if (!complaint_.empty()) return complaint_;
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      for (const int count : owners_[i]) {
        if (count == 1 || count == setup_.ranks) continue;
        return fmt::format(
            "{} of {} ranks own an element of parameter {}: one must, or all of them", count,
            setup_.ranks, i);
      }
    }
    return {};
  }

 private:
  void add(const Slice& slice) {
    for (const Piece& piece : slice.pieces) {
      if (slice.frozen != setup_.is_frozen(piece.parameter)) {
        complaint_ =
            fmt::format("parameter {} is {}in a slice that is {}frozen", piece.parameter,
                        slice.frozen ? "trained and " : "frozen and ", slice.frozen ? "" : "not ");
      }
      for (std::int64_t k = 0; k < piece.count; ++k) {
        ++owners_[piece.parameter][static_cast<std::size_t>(piece.first + k)];
      }
    }
  }

  const BlockSetup& setup_;
  std::mutex mutex_;
  std::vector<std::vector<int>> owners_;
  std::string complaint_;
};

CheckVerdict partitions(RankThreads& threads, const BlockSetup& setup) {
  OwnerCounts counts(setup);
  CheckVerdict verdict = threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict&) {
    counts.add(rank.communication().slices());
  });
  verdict.complaint = counts.complaint();
  return verdict;
}

CheckVerdict keeps_traits(RankThreads& threads, const BlockSetup& setup) {
  return threads.run(setup, [&](TrainingRank& rank, int, CheckVerdict& verdict) {
    rank.backward(0, verdict);
    rank.update(0);
    if (rank.communication().traits() != rank.traits()) {
      verdict.complaint = "its traits changed during a step";
    }
  });
}

const Sizes few_parameters = {{5}, {2, 3}, {1}};
const Sizes several_parameters = {{5}, {2, 3}, {1}, {70}, {4, 4}, {3}};

std::vector<Sizes> parameter_sets() {
  Sizes many;
  for (std::int64_t i = 0; i < 40; ++i) many.push_back({1 + i % 7});
  Sizes uneven = {{100003}, {1}, {17, 31}, {3}};
  return {{{1}}, {{3}}, few_parameters, many, {{1031}, {64, 65}}, uneven};
}

using Judge = std::function<CheckVerdict(const BlockSetup&)>;

Check over(std::string name, std::string sentence, const std::vector<BlockSetup>& setups,
           const Judge& judge) {
  Check check{std::move(name), std::move(sentence), {}};
  for (const BlockSetup& setup : setups) {
    check.cases.push_back({text(setup), [judge, setup] { return judge(setup); }});
  }
  return check;
}

std::vector<BlockSetup> on_rank_counts(const std::vector<Sizes>& sets, std::vector<int> counts) {
  std::vector<BlockSetup> setups;
  for (const Sizes& sizes : sets) {
    for (const int ranks : counts) setups.push_back({.ranks = ranks, .parameters = sizes});
  }
  return setups;
}

std::vector<BlockSetup> missing_gradients() {
  std::vector<BlockSetup> setups;
  for (const bool everywhere : {false, true}) {
    for (const int ranks : {2, 3}) {
      for (const std::vector<std::size_t>& missing :
           std::vector<std::vector<std::size_t>>{{0}, {2}, {0, 1}}) {
        setups.push_back({.ranks = ranks,
                          .parameters = few_parameters,
                          .missing = missing,
                          .missing_everywhere = everywhere});
      }
    }
  }
  return setups;
}

// Tied, frozen and unused parameters, and all at once.
std::vector<BlockSetup> unlike_parameters() {
  std::vector<BlockSetup> setups;
  for (const int ranks : {1, 2, 3, 4}) {
    const BlockSetup plain = {.ranks = ranks, .parameters = several_parameters};
    BlockSetup tied = plain;
    tied.tied = {0, 2};
    BlockSetup frozen = plain;
    frozen.frozen = {0, 1, 3};
    BlockSetup all = tied;
    all.frozen = {1};
    all.missing = {3, 5};
    all.missing_everywhere = true;
    setups.insert(setups.end(), {tied, frozen, all});
  }
  return setups;
}

std::vector<BlockSetup> computed_in_bf16() {
  std::vector<BlockSetup> setups = on_rank_counts({few_parameters, {{1031}, {64, 65}}}, {1, 2, 4});
  for (BlockSetup& setup : setups) setup.compute = at::kBFloat16;
  return setups;
}

std::vector<BlockSetup> recomputed() {
  std::vector<BlockSetup> setups = on_rank_counts({few_parameters, several_parameters}, {1, 2, 3});
  for (BlockSetup& setup : setups) setup.recomputes = true;
  return setups;
}

}  // namespace

std::vector<Check> communication_checks(const Subject& subject) {
  const auto threads = std::make_shared<RankThreads>(subject);
  const auto with = [&](CheckVerdict (*judge)(RankThreads&, const BlockSetup&)) {
    return [threads, judge](const BlockSetup& setup) { return judge(*threads, setup); };
  };
  const std::vector<Sizes> all = parameter_sets();
  const std::vector<Sizes> few = {{{3}}, few_parameters};
  return {
      over("single_rank", "One rank keeps its own gradients and needs no others.",
           on_rank_counts(all, {1}), with(trains_apart)),
      over("mean", "After a backward every rank has the mean of all ranks' gradients.",
           on_rank_counts(all, {2, 3}), with(averages)),
      over("start", "Every rank starts from rank 0's parameters.", on_rank_counts(few, {2, 3}),
           with(starts_alike)),
      over("missing_gradients", "A gradient that a rank lacks counts as 0.", missing_gradients(),
           with(averages)),
      over("steps",
           "After each of several steps the parameters that the ranks gather, and each block's as "
           "it "
           "uses them, are those of a single process.",
           on_rank_counts(all, {1, 2, 3, 4}), with(trains)),
      over("unlike_parameters", "So they are with tied, frozen and unused parameters.",
           unlike_parameters(), with(trains)),
      over("low_precision", "So they are, within bf16's tolerance, where the model takes bf16.",
           computed_in_bf16(), with(trains)),
      over("recomputation", "So they are where blocks are computed again in the backward.",
           recomputed(), with(trains)),
      over("ownership", "Each element is updated by one rank, or each by all.",
           on_rank_counts({few_parameters, several_parameters}, {1, 2, 3, 4}), with(partitions)),
      over("gradient_norm", "Every rank finds the norm of all gradients.",
           on_rank_counts({few_parameters}, {1, 2, 4}), with(agrees_on_norm)),
      over("gradient_buffers", "Gradients that it keeps stay where they are.",
           on_rank_counts(few, {1, 2}), with(keeps_gradients)),
      over("apart", "Where ranks train apart, nothing changes their gradients.",
           on_rank_counts(few, {2, 3}), with(trains_apart)),
      over("traits", "Its traits never change.", on_rank_counts(few, {1, 2}), with(keeps_traits)),
  };
}

}  // namespace assay::conformance
