// observe: memory on a model's step and on hostile ones, on a CPU.

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <assay/observer.h>
#include <assay/range.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "accounting/saved.h"
#include "base/text.h"
#include "measure/memory.h"
#include "observer/memory/collect.h"
#include "observer/memory/figures.h"
#include "plugins/support.h"
#include "worker/record/recorder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

// A pass as the worker hands it to an observer.
class Watched final : public ObservedPassBoundary {
 public:
  using Make = std::function<std::unique_ptr<ProgramBoundary>()>;
  Watched(Make make, std::string pass, int steps = 3)
      : make_(std::move(make)), pass_(std::move(pass)), steps_(steps) {}

  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return at::kCPU; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return steps_; }
  Status build() noexcept override {
    return guarded([&] { program_ = make_(); });
  }
  Status step() noexcept override {
    return guarded([&] {
      ++taken;
      throw_unless_ok(program_->before(pass_));
      const Range range("assay.step");
      throw_unless_ok(program_->run(pass_));
    });
  }

  int taken = 0;

 private:
  Make make_;
  std::string pass_;
  int steps_;
  std::unique_ptr<ProgramBoundary> program_;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

memory::Collected watch(const Watched::Make& make, const std::string& pass, int steps = 3,
                        const memory::Limits& limits = {}) {
  Watched watched(make, pass, steps);
  return memory::collect(ObservedPass(watched), &seconds, limits);
}

struct Shape {
  std::string architecture;
  std::int64_t batch, seq_len;
};

test::Case model_case(const Shape& shape, const std::string& precision = "fp32",
                      const std::string& attention = "naive") {
  test::Case made = test::make_case({"model_step", attention, "rmsnorm", precision});
  test::set_model(made.context, shape.architecture, shape.batch, shape.seq_len, 64, 192);
  return made;
}

const memory::PhaseFigures& of_phase(const std::vector<memory::PhaseFigures>& phases,
                                     const std::string& name) {
  for (const auto& phase : phases) {
    if (phase.name == name) return phase;
  }
  throw std::out_of_range(name);
}

class MemoryOfAModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const test::Case made = model_case({"swiglu", 2, 32});
    seen_ = new memory::Collected(watch([&] { return test::build(made); }, "train_step"));
    const auto program = test::build(made);
    for (int i = 0; i < 2; ++i) {
      throw_unless_ok(program->before("train_step"));
      throw_unless_ok(program->run("train_step"));
    }
    const measure::CpuMemoryScope counted;
    throw_unless_ok(program->before("train_step"));
    step_ = measure::observe_memory(at::kCPU, [&] { throw_unless_ok(program->run("train_step")); });
    parameters_ = 0;
    std::vector<Count> counts;
    throw_unless_ok(program->counts("train_step", counts));
    for (const Count& count : counts) {
      if (count.metric == "parameters") parameters_ = count.value;
    }
  }
  static void TearDownTestSuite() { delete std::exchange(seen_, nullptr); }
  static const memory::History& history() { return seen_->history; }

  static memory::Collected* seen_;
  static measure::MemoryUse step_;
  static double parameters_;
};
memory::Collected* MemoryOfAModel::seen_ = nullptr;
measure::MemoryUse MemoryOfAModel::step_;
double MemoryOfAModel::parameters_ = 0;

TEST_F(MemoryOfAModel, PhasesAreThoseOfTheStep) {
  EXPECT_EQ(seen_->failure, nullptr);
  EXPECT_EQ(history().steps, 3);
  std::vector<std::string> names;
  for (const auto& phase : history().phases) {
    if (phase.step == 2) names.push_back(phase.name);
  }
  EXPECT_THAT(names, ElementsAre("set-up", "", "forward", "backward", "optimizer"));
  for (const auto& phase : history().phases) EXPECT_LE(phase.begin_s, phase.end_s) << phase.name;
}

// What a step adds to its beginning is what measure counts; the state is parameters and moments.
TEST_F(MemoryOfAModel, PeaksAreWhatTheStepNeeds) {
  const auto phases = memory::phase_figures(history());
  const double built = static_cast<double>(history().built.allocated);
  EXPECT_NEAR(built, 4 * parameters_, 0.05 * built) << "tokens and rotary tables too";
  const auto& whole = of_phase(phases, "");
  EXPECT_EQ(whole.peak.size(), 2u) << "the first step is left out";
  const double added = static_cast<double>(step_.peak_bytes - step_.before_bytes);
  EXPECT_NEAR(whole.peak[0] - whole.floor[0], added, 0.01 * added);
  EXPECT_NEAR(whole.floor[0], built + 8 * parameters_, 0.01 * built) << "two moments";
  const auto& optimizer = of_phase(phases, "optimizer");
  EXPECT_NEAR(optimizer.floor[0], built + 12 * parameters_, 0.05 * built) << "and gradients";
  EXPECT_GT(of_phase(phases, "backward").peak[0], of_phase(phases, "optimizer").peak[0]);
  EXPECT_GT(whole.device[0], whole.peak[0]) << "the process holds more than its tensors";
}

TEST_F(MemoryOfAModel, TimelineEndsWithWhatIsAllocated) {
  const auto points = memory::points_of(history(), 100'000);
  EXPECT_EQ(points.times_s.size(), history().events.size());
  EXPECT_TRUE(std::ranges::is_sorted(points.times_s));
  EXPECT_EQ(points.allocated.back(), static_cast<double>(history().end.allocated));
  memory::Bytes live = 0;
  for (const auto& segment : history().segments) live += segment.size;
  EXPECT_EQ(static_cast<double>(live), points.allocated.back());
}

// The moments appear ahead of the first step; gradients go ahead of each.
TEST_F(MemoryOfAModel, SetUpHasTheOptimizersRampAndTheDipOfTheGradients) {
  std::vector<const memory::Phase*> set_up;
  for (const auto& phase : history().phases) {
    if (phase.name == "set-up" && phase.step > 0) set_up.push_back(&phase);
  }
  ASSERT_EQ(set_up.size(), 3u);
  const auto change = [](const memory::Phase& phase) {
    return static_cast<double>(phase.allocated.most - phase.allocated.least);
  };
  EXPECT_NEAR(change(*set_up[0]), 8 * parameters_, 0.01 * 8 * parameters_);
  EXPECT_NEAR(change(*set_up[1]), 4 * parameters_, 0.05 * 4 * parameters_);
}

// Two blocks with one softmax each, of 2 · 4 · 32² probabilities of 4 bytes.
TEST_F(MemoryOfAModel, AllocationsNameOperatorAndModule) {
  const auto all = memory::largest_allocations(history(), 1000);
  const auto softmax = std::ranges::find_if(all, [](const memory::Allocation& each) {
    return each.from() == "aten::_softmax in forward;block;attention;softmax";
  });
  ASSERT_NE(softmax, all.end());
  EXPECT_EQ(softmax->size, 2 * 4 * 32 * 32 * 4);
  EXPECT_EQ(softmax->count, 2);
  const bool backward = std::ranges::any_of(all, [](const memory::Allocation& each) {
    return each.from() == "aten::_softmax_backward_data in backward;block;attention;softmax";
  });
  EXPECT_TRUE(backward) << "a backward lies in the module of its forward";
  EXPECT_TRUE(std::ranges::is_sorted(all, std::greater(), &memory::Allocation::size));
}

// The accounting's formulas, to the byte; of the loss a scalar more.
TEST(MemorySavedByAModel, IsWhatTheAccountingCounts) {
  for (const std::string architecture : {"swiglu", "gelu"}) {
    for (const std::string attention : {"naive", "math_libtorch"}) {
      for (const std::int64_t batch : {1, 4}) {
        const Shape shape{architecture, batch, 48};
        const test::Case made = model_case(shape, "fp32", attention);
        const auto seen = watch([&] { return test::build(made); }, "forward", 2);
        const auto model = accounting::counted_model(made.context.presets.at("model"), architecture,
                                                     shape.seq_len);
        const auto expected = accounting::saved_by_part(model, {static_cast<double>(batch), 48},
                                                        {.attention = attention, .on_cpu = true});
        const auto saved = memory::saved_figures(seen.history);
        const double total = accounting::value_of(expected, "saved for backward");
        EXPECT_NEAR(saved.total, total, 0.001 * total) << architecture << " " << attention;
        EXPECT_NEAR(static_cast<double>(seen.history.saved_most), saved.total, 0.005 * total);
      }
    }
  }
}

TEST(MemorySavedByAModel, DoesNotGrowFromStepToStep) {
  const test::Case made = model_case({"swiglu", 1, 16});
  for (const char* pass : {"forward", "backward", "forward_backward", "inference"}) {
    const auto seen = watch([&] { return test::build(made); }, pass, 4);
    const auto phases = memory::phase_figures(seen.history);
    const auto& whole = of_phase(phases, "");
    EXPECT_EQ(whole.peak[0], whole.peak[2]) << pass;
  }
}

// The observer must not change what a step computes.
TEST(MemoryObserver, LeavesTheGradientsAsTheyAre) {
  const test::Case made = model_case({"swiglu", 1, 16});
  const auto gradients = [](ProgramBoundary& program) {
    std::vector<NamedTensor> outputs;
    throw_unless_ok(program.outputs("forward_backward", outputs));
    return outputs;
  };
  ProgramBoundary* watched = nullptr;
  Watched pass(
      [&] {
        auto program = test::build(made);
        watched = program.get();
        return program;
      },
      "forward_backward", 1);
  const auto seen = memory::collect(ObservedPass(pass), &seconds);
  ASSERT_EQ(seen.failure, nullptr);
  const auto plain = test::build(made);
  throw_unless_ok(plain->before("forward_backward"));
  throw_unless_ok(plain->run("forward_backward"));
  const auto expected = gradients(*plain), found = gradients(*watched);
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(expected[i].tensor.equal(found[i].tensor)) << expected[i].name;
  }
}

// A program of its own, whose step is any function.
struct Stepping final : ProgramBoundary {
  explicit Stepping(std::function<void()> run) : run_(std::move(run)) {}
  Status before(const std::string&) noexcept override { return {}; }
  Status run(const std::string&) noexcept override { return guarded(run_); }
  Status calls_in_a_row(const std::string&, int&) noexcept override { return {}; }
  Status run_in_a_row(const std::string&, int) noexcept override { return {}; }
  Status outputs(const std::string&, std::vector<NamedTensor>&) noexcept override { return {}; }
  Status counts(const std::string&, std::vector<Count>&) noexcept override { return {}; }
  Status record(const std::string&, RecorderBoundary&) noexcept override { return {}; }
  std::function<void()> run_;
};

Watched::Make program_of(std::function<void()> run) {
  return [run] { return std::make_unique<Stepping>(run); };
}

TEST(MemoryObserver, KeepsWhatCameAheadOfAFailure) {
  int calls = 0;
  const auto seen = watch(program_of([&] {
                            const Range range("forward");
                            const auto kept = at::empty({1000});
                            if (++calls == 2) at::empty({std::int64_t{1} << 58});
                          }),
                          "step");
  ASSERT_NE(seen.failure, nullptr);
  EXPECT_THROW(std::rethrow_exception(seen.failure), PluginFailure);
  EXPECT_EQ(seen.history.steps, 2);
  const auto failed = std::ranges::find(seen.history.events, memory::Event::Action::out_of_memory,
                                        &memory::Event::action);
  ASSERT_NE(failed, seen.history.events.end());
  EXPECT_EQ(failed->size, std::int64_t{1} << 60);
  EXPECT_EQ(seen.history.paths.text(failed->origin.path), "forward");
  EXPECT_EQ(memory::phase_figures(seen.history).at(0).peak, std::vector<double>{4000});
}

TEST(MemoryObserver, KeepsNoMoreThanItsLimits) {
  const memory::Limits limits{.events = 100, .phases = 20, .sites = 10, .operators = 5, .paths = 8};
  Watched watched(program_of([] {
                    for (int i = 0; i < 500; ++i) {
                      const Range range("unlike", i);
                      const auto kept = at::ones({i + 1});
                    }
                  }),
                  "step", 5);
  const auto seen = memory::collect(ObservedPass(watched), &seconds, limits);
  EXPECT_TRUE(seen.history.cut);
  EXPECT_EQ(watched.taken, 1) << "no further step where nothing more is kept";
  EXPECT_LE(seen.history.events.size(), limits.events);
  EXPECT_LE(seen.history.phases.size(), limits.phases);
  EXPECT_LE(seen.history.sites.size(), limits.sites);
  EXPECT_LE(seen.history.operators.size(), limits.operators);
  EXPECT_LE(seen.history.paths.size(), limits.paths);
  EXPECT_EQ(memory::phase_figures(seen.history).at(0).peak, std::vector<double>{2000})
      << "the peak is that of all of it";
}

// PyTorch's own functions, where there is a Python with torch.
TEST(MemorySnapshotFile, IsReadByPyTorch) {
  const char* named = std::getenv("ASSAY_PYTHON");
  const std::string python = named == nullptr || *named == '\0' ? "python3" : named;
  const std::string finds =
      python + " -c \"import importlib.util as u; exit(u.find_spec('torch') is None)\"";
  if (std::system((finds + " 2> /dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no torch; ASSAY_PYTHON names another Python";
  }
  const PluginEntry& registered = test::entry("observer", "memory", "memory");
  PluginDescription description;
  throw_unless_ok(registered.describe(description));
  std::string folder = std::filesystem::temp_directory_path() / "assay-memory-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  worker::CaseRecorder recorder(0, folder, {.artefact_bytes = std::int64_t{64} << 20});
  recorder.begin("train_step", "the observer", description.workload.metrics);
  const test::Case made = model_case({"swiglu", 1, 16});
  Watched watched([&] { return test::build(made); }, "train_step", 2);
  throw_unless_ok(test::make<ObserverBoundary>(registered)->observe(watched, recorder));
  double end = 0;
  for (const store::Series& series : recorder.take_series()) {
    if (series.metric == "allocated_memory") end = series.samples.back();
  }
  std::string file;
  for (const store::Artefact& each : recorder.artefacts()) {
    if (each.name == "snapshot.pickle") file = folder + "/" + each.file;
  }
  std::ofstream(folder + "/read.py") << R"(
import pickle, sys
from torch.cuda import _memory_viz as viz
snapshot = pickle.load(open(sys.argv[1], 'rb'))
assert viz.trace_plot(snapshot) and viz.segment_plot(snapshot) and viz.trace(snapshot)
events = snapshot['device_traces'][0]
names = {frame['name'] for event in events for frame in event['frames']}
assert {'aten::_softmax', 'block 1', 'forward', 'backward', 'optimizer'} <= names, names
assert any(frame['filename'] == 'C++' for event in events for frame in event['frames'])
print(sum(segment['allocated_size'] for segment in snapshot['segments']))
)";
  const std::string out = folder + "/out.txt";
  const std::string command = python + " " + folder + "/read.py " + file + " > " + out + " 2>&1";
  const int status = std::system(command.c_str());
  const std::string said = read_file(out).value();
  EXPECT_EQ(status, 0) << said;
  EXPECT_EQ(said, std::to_string(static_cast<std::int64_t>(end)) + "\n");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay
