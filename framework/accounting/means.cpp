#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "accounting/bounds.h"

namespace assay::accounting {

namespace {

constexpr double context_ranks = 8;  // of context parallelism
constexpr double stages = 4;         // of pipeline parallelism

// What one of the means changes. The tokens of a device that a step needs are
// factor · C / W / M_X / Y, with `factor` for whatever is no axis.
struct Change {
  const char* means;
  double data_axes = 0;  // more of them
  double tensor = 1;     // times as many
  double factor = 1;
  const char* factor_formula = "1";
  double divides_sequence = 1;
  double divides_shards = 1;
  const char* source = "";
  const char* reason = "";
};

constexpr const char* scaling = "Austin et al. 2025, How To Scale Your Model, part 5";

// The factors of a step's data volume: weights gathered in the forward and in the backward, and
// gradients scattered, 2 + 2 + 2 bytes an element where nothing is compressed.
const Change changes[] = {
    {.means = "plain",
     .source = scaling,
     .reason = "All communication overlaps the products: a step takes the longer of the two."},
    {.means = "more mesh axes",
     .data_axes = 1,
     .source = scaling,
     .reason = "Collectives over one more axis of the torus use its links, too."},
    {.means = "more tensor parallelism",
     .tensor = 2,
     .source = scaling,
     .reason = "Each device gathers a smaller part of the weights; holds up to Y = M_Y f W / C."},
    {.means = "pipeline parallelism",
     .factor = 1 / stages,
     .factor_formula = "(1 / 4)",
     .divides_shards = stages,
     .source = "Narayanan et al. 2021, section 2.2; Huang et al. 2019",
     .reason = "Four stages gather only their own blocks, once for all microbatches; costs the "
               "bubble (p - 1) / M."},
    {.means = "context parallelism",
     .divides_sequence = context_ranks,
     .source = "Liu et al. 2023, Ring Attention; Jacobs et al. 2023, Ulysses",
     .reason = "Eight ranks share a sequence: tokens a device stay, but a batch needs no whole "
               "sequence for each of them."},
    {.means = "compressed gradients",
     .factor = 5.0 / 6,
     .factor_formula = "((2 + 2 + 1) / (2 + 2 + 2))",
     .source = "Dettmers 2016; Vogels et al. 2019, PowerSGD, compress further",
     .reason = "Gradients are scattered in one byte an element; weights stay in two."},
    {.means = "compressed weights and gradients",
     .factor = 2.5 / 6,
     .factor_formula = "((1 + 1 + 0.5) / (2 + 2 + 2))",
     .source = "Wang et al. 2023, ZeRO++",
     .reason = "Weights are gathered in 8 bit, gradients scattered in 4."},
    {.means = "no overlap",
     .factor = 9,
     .factor_formula = "9",
     .source = "Li et al. 2020, PyTorch Distributed, section 3.2.3",
     .reason = "What overlap saves: without it communication adds to the products' time, and 90 % "
               "of the peak takes 0.9 / (1 - 0.9) = 9 times the batch."},
};

double sequences_for(double tokens, double seq_len, double groups) {
  return std::max(std::ceil(tokens / seq_len), groups);
}

Means with_change(const Change& change, const Spread& s, double seq_len) {
  const double alpha = s.flops / s.bandwidth;
  const double axes = s.data_axes + change.data_axes;
  const double y = s.tensor * change.tensor;
  const double devices = s.shards * s.tensor;
  const double shards = devices / y / change.divides_shards;
  const double tokens = change.factor * alpha / axes / y;
  const double overall = std::ceil(tokens) * devices;
  const double groups = std::ceil(shards / change.divides_sequence);
  const Values v = {{"C", s.flops}, {"W", s.bandwidth}, {"M_X", axes},
                    {"Y", y},       {"N", devices},     {"tokens", std::ceil(tokens)},
                    {"S", seq_len}, {"groups", groups}, {"overall", overall}};
  const std::string factor = change.factor == 1 ? "" : std::string(change.factor_formula) + " * ";
  return {quantity("device", "token", "ceil(" + factor + "C / W / M_X / Y)", v, std::ceil(tokens),
                   change.source),
          quantity("overall", "token", "tokens * N", v, overall),
          quantity("sequences", "count", "max(ceil(overall / S), groups)", v,
                   sequences_for(overall, seq_len, groups)),
          change.reason};
}

// X and Y chosen freely: at the least batch both axes are at their bound, B / N = α² / (M_X M_Y f).
Means with_best_split(const Spread& s, double seq_len) {
  const double alpha = s.flops / s.bandwidth;
  const double devices = s.shards * s.tensor;
  const double tokens = std::ceil(alpha * alpha / (s.data_axes * s.tensor_axes * s.f));
  const double best_tensor = s.tensor_axes * s.f / alpha;
  const double groups = std::ceil(devices / best_tensor);
  const Values v = {{"C", s.flops},         {"W", s.bandwidth},
                    {"M_X", s.data_axes},   {"f", s.f},
                    {"M_Y", s.tensor_axes}, {"N", devices},
                    {"tokens", tokens},     {"S", seq_len},
                    {"groups", groups},     {"overall", tokens * devices}};
  return {quantity("device", "token", "ceil((C / W)^2 / (M_X * M_Y * f))", v, tokens, scaling),
          quantity("overall", "token", "tokens * N", v, tokens * devices),
          quantity("sequences", "count", "max(ceil(overall / S), groups)", v,
                   sequences_for(tokens * devices, seq_len, groups)),
          "The devices are split so that both axes are at their bound, Y = M_Y f W / C."};
}

constexpr const char* best_split = "best split of the devices";

}  // namespace

std::vector<std::string> means() {
  std::vector<std::string> names;
  for (const Change& change : changes) names.emplace_back(change.means);
  names.insert(names.begin() + 3, best_split);
  return names;
}

Means with_means(const std::string& means, const Spread& spread, double seq_len) {
  if (means == best_split) return with_best_split(spread, seq_len);
  const auto found =
      std::ranges::find_if(changes, [&](const Change& change) { return means == change.means; });
  if (found == std::end(changes)) throw std::invalid_argument("unknown means '" + means + "'");
  return with_change(*found, spread, seq_len);
}

}  // namespace assay::accounting
