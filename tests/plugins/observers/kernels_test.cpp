// observe: kernels on a model's step and on hostile ones, on a CPU.

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <assay/observer.h>
#include <assay/range.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "observer/kernels/collect.h"
#include "observer/kernels/profile.h"
#include "observer/kernels/trace.h"
#include "plugins/support.h"
#include "worker/record/recorder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// A pass as the worker hands it to an observer.
class Observed final : public ObservedPassBoundary {
 public:
  Observed(std::function<void()> before, std::function<void()> run, int steps = 3)
      : before_(std::move(before)), run_(std::move(run)), steps_(steps) {}

  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return at::kCPU; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return steps_; }
  Status build() noexcept override { return {Outcome::error, "not asked for"}; }
  Status step() noexcept override {
    return guarded([&] {
      ++taken;
      before_();
      const Range range("assay.step");
      run_();
    });
  }

  int taken = 0;

 private:
  std::string pass_ = "train_step";
  std::function<void()> before_, run_;
  int steps_;
};

// Figures by metric and part.
using Figures = std::map<std::pair<std::string, std::string>, std::vector<double>>;

struct Seen {
  Figures figures;
  std::map<std::string, std::string> words;
  std::map<std::string, std::string> files;
};

Seen observe(Observed& observed) {
  const PluginEntry& registered = test::entry("observer", "kernels", "kernels");
  PluginDescription description;
  throw_unless_ok(registered.describe(description));
  std::string folder = std::filesystem::temp_directory_path() / "assay-kernels-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  worker::CaseRecorder recorder(0, folder, {.artefact_bytes = std::int64_t{64} << 20});
  recorder.begin("train_step", "the observer", description.workload.metrics);
  throw_unless_ok(test::make<ObserverBoundary>(registered)->observe(observed, recorder));
  Seen seen;
  for (const store::Series& series : recorder.take_series()) {
    if (series.words.empty()) {
      seen.figures[{series.metric, series.part}] = series.samples;
    } else {
      seen.words[series.metric + " " + series.part] = series.words.front();
    }
  }
  for (const store::Artefact& file : recorder.artefacts()) {
    seen.files[file.name] = read_file((std::filesystem::path(folder) / file.file).string()).value();
  }
  std::filesystem::remove_all(folder);
  return seen;
}

std::string unzipped(const std::string& gzip) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text, chunk(1 << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, 0, chunk.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

// One profile of a training step, which the tests look at.
class KernelsOfAModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    test::Case made = test::make_case({"model_step"});
    test::set_model(made.context, "swiglu", 2, 16);
    const auto program = test::build(made);
    for (const assay::Count& count : counts(*program)) {
      if (count.metric == "flops") model_flops_ = count.value;
    }
    Observed observed([&] { throw_unless_ok(program->before("train_step")); },
                      [&] { throw_unless_ok(program->run("train_step")); });
    seen_ = new Seen(observe(observed));
    EXPECT_EQ(observed.taken, 3);
  }
  static void TearDownTestSuite() { delete std::exchange(seen_, nullptr); }

  static std::vector<assay::Count> counts(ProgramBoundary& program) {
    std::vector<assay::Count> counts;
    throw_unless_ok(program.counts("train_step", counts));
    return counts;
  }
  static double figure(const std::string& metric, const std::string& part = "") {
    const auto found = seen_->figures.find({metric, part});
    EXPECT_NE(found, seen_->figures.end()) << metric << " of " << part;
    return found == seen_->figures.end() ? -1 : found->second.front();
  }

  static Seen* seen_;
  static double model_flops_;
};
Seen* KernelsOfAModel::seen_ = nullptr;
double KernelsOfAModel::model_flops_ = 0;

TEST_F(KernelsOfAModel, BusyAndIdleAreTheSpanOfEachStep) {
  const auto spans = seen_->figures.at({"profiled_time", ""});
  const auto busy = seen_->figures.at({"busy_time", ""});
  const auto idle = seen_->figures.at({"idle_time", ""});
  ASSERT_EQ(spans.size(), 2u) << "the first step is left out";
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GT(busy[i], 0);
    EXPECT_NEAR(busy[i] + idle[i], spans[i], 0.01 * spans[i]);
  }
}

// Two blocks with two norms each, and the final norm.
TEST_F(KernelsOfAModel, RangesFollowTheModel) {
  EXPECT_EQ(figure("range_calls", "block"), 2);
  EXPECT_EQ(figure("range_calls", "norm"), 5);
  for (const char* range : {"attention", "scores", "softmax", "values", "feed_forward"}) {
    EXPECT_EQ(figure("range_calls", range), 2) << range;
    EXPECT_GT(figure("range_time", range), 0) << range;
  }
  for (const char* range : {"forward", "backward", "optimizer", "embedding", "head", "loss"}) {
    EXPECT_EQ(figure("range_calls", range), 1) << range;
  }
  EXPECT_LT(figure("range_time", "softmax"), figure("range_time", "attention"));
  for (const char* stack :
       {"forward;block 1;attention;softmax", "backward;block 0;attention;softmax",
        "backward;block 1;feed_forward", "backward;norm", "backward;loss", "optimizer"}) {
    EXPECT_GT(figure("stack_time", stack), 0) << stack;
  }
}

// 2 · batch · heads · seq² · d_head forward, twice that backward, of each of two blocks; 5 FLOP an
// element of the softmax and 4 of its gradient.
TEST_F(KernelsOfAModel, CountsTheFlopsOfItsParts) {
  constexpr double scores = 2.0 * 2 * 4 * 16 * 16 * 8;
  EXPECT_EQ(figure("range_flops", "scores"), 2 * 3 * scores);
  EXPECT_EQ(figure("range_flops", "values"), 2 * 3 * scores);
  EXPECT_EQ(figure("range_flops", "softmax"), 2 * 9.0 * 2 * 4 * 16 * 16);
  // The model counts only what a causal mask leaves: of 16² products 16 · 17 / 2.
  const double masked = 2 * 3 * 2 * scores * (1 - 17.0 / 32);
  EXPECT_EQ(figure("class_flops", "gemm"), model_flops_ + masked);
}

TEST_F(KernelsOfAModel, SharesAddUp) {
  double classes = 0, kernels = 0, stacks = 0;
  for (const auto& [key, values] : seen_->figures) {
    if (key.first == "class_share") classes += values.front();
    if (key.first == "kernel_share") kernels += values.front();
    if (key.first == "stack_time") stacks += values.front();
  }
  EXPECT_NEAR(classes, 1, 1e-9);
  EXPECT_NEAR(kernels, 1, 1e-9);
  EXPECT_NEAR(stacks, figure("profiled_work"), 1e-9);
  EXPECT_GT(figure("class_share", "gemm"), 0);
  EXPECT_GT(figure("class_share", "softmax"), 0);
  EXPECT_GT(figure("calls", "aten::mm"), 0);
  EXPECT_GE(figure("cpu_time", "aten::linear"), figure("self_cpu_time", "aten::linear"));
}

TEST_F(KernelsOfAModel, TheTraceIsReadBack) {
  const auto trace = nlohmann::json::parse(unzipped(seen_->files.at("trace.json.gz")));
  EXPECT_EQ(trace.at("otherData").at("left_out"), "0");
  int steps = 0, softmax = 0;
  double open_until = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    if (event.at("name") == "assay.step") {
      ++steps;
      open_until = event.at("ts").get<double>() + event.at("dur").get<double>();
    }
    if (event.at("cat") == "range" && event.at("name") == "softmax") {
      ++softmax;
      EXPECT_LT(event.at("ts").get<double>(), open_until);
    }
  }
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(softmax, 6);
}

TEST_F(KernelsOfAModel, FoldedStacksAndTheFlameGraphHaveTheRanges) {
  EXPECT_THAT(seen_->files.at("stacks.txt"),
              HasSubstr("forward;block 0;attention;softmax;aten::softmax;aten::_softmax "));
  EXPECT_THAT(seen_->files.at("flame.svg"), HasSubstr("data-n=\"block 1\""));
}

// The forward ahead of a backward is not part of the step.
TEST(Kernels, OfABackwardAloneLeaveTheForwardOut) {
  test::Case made = test::make_case({"model_step"});
  test::set_model(made.context, "gelu", 1, 8);
  const auto program = test::build(made);
  Observed observed([&] { throw_unless_ok(program->before("backward")); },
                    [&] { throw_unless_ok(program->run("backward")); });
  const Seen seen = observe(observed);
  EXPECT_FALSE(seen.figures.contains({"stack_time", "forward;block 0;attention;softmax"}));
  EXPECT_TRUE(seen.figures.contains({"stack_time", "backward;block 0;attention;softmax"}));
  EXPECT_FALSE(seen.figures.contains({"kernel_calls", "aten::_softmax"}));
  EXPECT_GT(seen.figures.at({"range_time", "softmax"}).front(), 0);
}

TEST(Kernels, AStepOfVeryManyOperatorsIsSeenInPart) {
  const at::Tensor x = at::ones({1});
  Observed observed([] {},
                    [&] {
                      for (int i = 0; i < 20'000; ++i) x.add_(1);
                    });
  const kernels::Events events = kernels::collect(ObservedPass(observed), /*limit=*/2000);
  EXPECT_EQ(observed.taken, 1) << "no further step";
  EXPECT_LE(events.host.size(), 2000u);
  EXPECT_GT(events.host.size(), 1000u);
  const kernels::Profile profile = kernels::profile_of(events);
  EXPECT_TRUE(profile.cut);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_LE(profile.steps.front().busy_s, profile.steps.front().span_s);
}

TEST(Kernels, TheProfilerIsOffAfterAStepThatFails) {
  Observed failing([] {}, [] { throw std::runtime_error("the step breaks"); });
  EXPECT_THROW(kernels::collect(ObservedPass(failing)), PluginFailure);
  Observed right([] {}, [] { at::ones({2}).add_(1); });
  EXPECT_GT(kernels::collect(ObservedPass(right)).host.size(), 0u);
}

TEST(Kernels, ATraceKeepsItsLimit) {
  kernels::Events events;
  for (int i = 0; i < 50'000; ++i) {
    kernels::HostEvent event;
    event.name = "operator \"" + std::to_string(i * 7919 % 100'003) + "\"";
    event.time = {i * 10, i * 10 + 5};
    event.thread = 1;
    events.host.push_back(std::move(event));
  }
  const kernels::Trace trace = kernels::trace_of(events, 100'000);
  EXPECT_LE(trace.gzip.size(), 100'000u);
  EXPECT_GT(trace.gzip.size(), 50'000u);
  const auto read = nlohmann::json::parse(unzipped(trace.gzip));
  EXPECT_GT(trace.left_out, 0u);
  EXPECT_EQ(read.at("otherData").at("left_out"), std::to_string(trace.left_out));
}

}  // namespace
}  // namespace assay
