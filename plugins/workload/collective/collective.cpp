#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <assay/reference.h>
#include <assay/workload.h>

#include <functional>
#include <map>
#include <stdexcept>

#include "model/operation_program.h"

namespace assay {

namespace {

constexpr std::int64_t element_size = sizeof(float);

// Element i of rank r is r + i mod this: sums are exact in fp32 up to 5000 ranks.
constexpr std::int64_t values = 97;

// One collective over the ranks. A case's size is that of the whole: the result of an all-gather on
// a rank, a rank's input to a reduce-scatter.
struct Collective {
  // Bus bandwidth / (size / time) for n ranks; derived in nccl-tests, doc/PERFORMANCE.md.
  double (*bus_factor)(double n);
  const char* formula;  // the same for people
};

const std::map<std::string, Collective>& collectives() {
  static const auto shared = [](double n) { return (n - 1) / n; };
  static const std::map<std::string, Collective> all = {
      {"all_reduce", {[](double n) { return 2 * shared(n); }, "2 * (n - 1) / n"}},
      {"all_gather", {shared, "(n - 1) / n"}},
      {"reduce_scatter", {shared, "(n - 1) / n"}},
      {"broadcast", {[](double) { return 1.0; }, "1"}},
  };
  return all;
}

// Elements of the whole: a multiple of the number of ranks, at least one each.
std::int64_t elements_of(const CaseContext& context) {
  const std::int64_t ranks = context.group.size;
  const std::int64_t each = integer_option(context.parameters, "size") / element_size / ranks;
  return std::max<std::int64_t>(each, 1) * ranks;
}

at::TensorOptions floats_on(at::Device device) {
  return at::TensorOptions().dtype(at::kFloat).device(device);
}

// Elements [first, first + count) of rank r's whole.
at::Tensor drawn(const CaseContext& context, int rank, std::int64_t first, std::int64_t count) {
  return (at::arange(first, first + count,
                     at::TensorOptions().dtype(at::kLong).device(context.device))
              .remainder(values) +
          rank)
      .to(at::kFloat);
}

class CollectiveProgram final : public Program {
 public:
  explicit CollectiveProgram(const CaseContext& context)
      : group_(context.group), elements_(elements_of(context)) {
    if (!group_.backend) throw Unsupported("a collective needs two ranks or more (world_size)");
    share_ = elements_ / group_.size;
    whole_in_ = drawn(context, group_.rank, 0, elements_);
    whole_ = at::empty_like(whole_in_);
    part_ = drawn(context, group_.rank, group_.rank * share_, share_);
    part_in_ = part_.clone();
  }

  // Restores the inputs that the last call changed.
  void before(const std::string& pass) override {
    whole_.copy_(whole_in_);
    part_.copy_(part_in_);
    if (pass == "all_gather") whole_.zero_();
    if (pass == "reduce_scatter") part_.zero_();
    if (pass == "broadcast" && group_.rank != 0) whole_.zero_();
  }

  void run(const std::string& pass) override {
    std::vector<at::Tensor> whole = {whole_};
    if (pass == "all_reduce") {
      group_.backend->allreduce(whole)->wait();
    } else if (pass == "all_gather") {
      group_.backend->_allgather_base(whole_, part_)->wait();
    } else if (pass == "reduce_scatter") {
      group_.backend->_reduce_scatter_base(part_, whole_)->wait();
    } else if (pass == "broadcast") {
      group_.backend->broadcast(whole)->wait();
    } else {
      throw std::invalid_argument("collective has no pass '" + pass + "'");
    }
  }

  std::vector<NamedTensor> outputs(const std::string& pass) override {
    return {{"out", pass == "reduce_scatter" ? part_ : whole_}};
  }

  std::vector<Count> counts(const std::string& pass) override {
    const double bytes = static_cast<double>(elements_ * element_size);
    const double ranks = group_.size;
    return {{"bytes", "", bytes},
            {"bus_bytes", "", bytes * collectives().at(pass).bus_factor(ranks)}};
  }

 private:
  Group group_;
  std::int64_t elements_;
  std::int64_t share_ = 0;  // elements of one rank's part
  at::Tensor whole_;        // [elements]
  at::Tensor part_;         // [share]
  at::Tensor whole_in_, part_in_;
};

at::Tensor expected(const CaseContext& context, const std::string& pass) {
  const Group& group = context.group;
  const auto elements = elements_of(context);
  const auto share = elements / group.size;
  const double ranks = group.size;
  const auto sum = [&](std::int64_t first, std::int64_t count) {
    return drawn(context, 0, first, count) * ranks + ranks * (ranks - 1) / 2;
  };
  if (pass == "all_reduce") return sum(0, elements);
  if (pass == "reduce_scatter") return sum(group.rank * share, share);
  if (pass == "broadcast") return drawn(context, 0, 0, elements);
  auto gathered = at::empty({elements}, floats_on(context.device));
  for (int rank = 0; rank < group.size; ++rank) {
    gathered.narrow(0, rank * share, share).copy_(drawn(context, rank, rank * share, share));
  }
  return gathered;
}

class CollectiveWorkload final : public Workload {
 public:
  static std::vector<ParameterInfo> options() {
    ParameterInfo size;
    size.name = "size";
    size.type = ParameterType::size;
    size.default_value = std::int64_t{1} << 20;
    size.description =
        "Bytes of the whole, in fp32: the data reduced or sent, or an all-gather's result. Rounded "
        "down to equal shares of the ranks.";
    size.unit = "byte";
    size.minimum = element_size;
    size.maximum = static_cast<double>(std::int64_t{1} << 40);
    return {size};
  }

  static WorkloadInfo info() {
    WorkloadInfo info;
    info.passes = {"all_reduce", "all_gather", "reduce_scatter", "broadcast"};
    info.default_passes = {"all_reduce"};
    info.metrics = {
        {"bytes", "byte", Direction::neither,
         "Size of the whole; divided by time, the algorithm's bandwidth.", "size"},
        {"bus_bytes", "byte", Direction::neither,
         "Bytes that must cross each rank's wire; divided by time, the bus bandwidth.",
         "all_reduce: size * 2 * (n - 1) / n; all_gather, reduce_scatter: size * (n - 1) / n; "
         "broadcast: size; n = world_size"},
    };
    info.default_clock = "cuda_event";
    return info;
  }

  static std::string memory_estimate() { return "2 * size + 2 * size / world_size"; }

  std::unique_ptr<Program> build(const CaseContext& context) override {
    return std::make_unique<CollectiveProgram>(context);
  }

  // Checks every element on every rank. All ranks must verify together.
  Verification verify(const CaseContext& context, const std::string& pass) override {
    CollectiveProgram program(context);
    const auto outputs = reference::call_once(context, program, pass);
    Verification verification;
    reference::compare(verification, "out", outputs.at(0).tensor, expected(context, pass), 0);
    return verification;
  }
};

}  // namespace

}  // namespace assay

ASSAY_PLUGIN(assay::CollectiveWorkload, "collective",
             "One collective over the ranks, by the case's backend: NCCL or Gloo through c10d.")
