#include "worker/looks/timed_looks.h"

#include "measure/idle_program.h"
#include "worker/looks/end_to_end.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <utility>

#include "measure/host_time.h"

namespace assay::worker {
namespace {

using ::testing::HasSubstr;

// y = 2 x, with a fault.
class Doubling final : public test::IdleProgram {
 public:
  enum class Fault {
    none,
    remembers,
    overwrites,
    aliases,
    leaves_out,
    works_when_read,
    works_a_little_when_read,  // for 50 us of each call
  };
  explicit Doubling(Fault fault) : fault_(fault) {}

  Status run(const std::string&) noexcept override {
    if (fault_ == Fault::works_when_read || fault_ == Fault::works_a_little_when_read) {
      ++unread_;
      return {};
    }
    if (fault_ == Fault::remembers && y_.defined()) {
      y_ = kept_.clone();
      return {};
    }
    if (fault_ == Fault::aliases) {
      y_ = x_;
      return {};
    }
    if (fault_ == Fault::leaves_out && y_.defined()) return {};
    y_ = x_ * 2;
    if (!kept_.defined()) kept_ = y_.clone();
    if (fault_ == Fault::overwrites) x_.zero_();
    return {};
  }
  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    const int unread = std::exchange(unread_, 0);
    if (unread > 0) y_ = x_ * 2;
    const double work_s = fault_ == Fault::works_when_read ? 10e-3 : 50e-6;
    const double begin_s = measure::host_now_s();
    while (measure::host_now_s() - begin_s < unread * work_s) {
    }
    if (y_.defined()) tensors = {{"y", y_}};
    return {};
  }
  Status inputs(const std::string&, std::vector<ProgramInput>& inputs) noexcept override {
    inputs = {{.name = "x", .tensor = x_}};
    return {};
  }
  Status writes_outputs_anew(const std::string&, bool& anew) noexcept override {
    anew = true;
    return {};
  }
  Status look(const std::string&, const Look&, Verification& found) noexcept override {
    const double error = (y_ - 2 * x_).norm().item<double>() / (2 * x_).norm().item<double>();
    found = {.checked = true, .error = error, .tolerance = 1e-6, .worst = "y", .textbook = 1e-7};
    return {};
  }

 private:
  Fault fault_;
  int unread_ = 0;  // calls
  at::Tensor x_ = at::randn({200, 300});
  at::Tensor y_, kept_;
};

using Fault = Doubling::Fault;

// The status after three calls that are all looked at.
Status found(Fault fault, Integrity integrity) {
  Doubling program(fault);
  InputRenewal renewal(program, "forward", 77, integrity);
  TimedLooks looks({.pass = "forward", .integrity = integrity, .secret = 5, .readings = 3});
  renewal.begin();
  for (int call = 0; call < 3; ++call) {
    renewal.renew_ahead();
    throw_unless_ok(program.before("forward"));
    renewal.renew();
    throw_unless_ok(program.run("forward"));
    looks.look(program, renewal);
  }
  renewal.restore();
  looks.note(renewal.unchanged());
  EXPECT_EQ(looks.facts().looks, 3);
  return looks.status();
}

TEST(TimedLooks, TellHonestWorkFromWhatIsNone) {
  for (const Integrity integrity : {Integrity::fast, Integrity::full}) {
    EXPECT_TRUE(found(Fault::none, integrity).ok()) << found(Fault::none, integrity).reason;
    EXPECT_THAT(found(Fault::remembers, integrity).reason,
                HasSubstr("in a timed call: y differs from the reference"));
    EXPECT_THAT(found(Fault::overwrites, integrity).reason, HasSubstr("changed its input x"));
    EXPECT_THAT(found(Fault::aliases, integrity).reason,
                HasSubstr("y shares memory with the input x"));
    EXPECT_THAT(found(Fault::leaves_out, integrity).reason, HasSubstr("y holds NaN"));
  }
}

// Behind which nothing is warmed up.
TEST(TimedLooks, WantTheLastOfSeveralColdReadings) {
  const auto wanted = [](int readings, bool known) {
    TimedLooks looks(
        {.pass = "forward", .readings = readings, .between = false, .last_is_known = known});
    std::vector<bool> all;
    for (std::size_t reading = 0; reading < 4; ++reading) all.push_back(looks.wants(reading));
    return all;
  };
  EXPECT_EQ(wanted(4, true), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(wanted(1, true), std::vector<bool>(4, false));
  EXPECT_EQ(wanted(4, false), std::vector<bool>(4, false));
}

// So many programs whose calls come in a row; one: its calls come alone, or in a row of its own.
Status end_to_end(Fault fault, double sample_s, int programs = 1, int in_a_row = 0) {
  const std::string pass = "forward";
  std::vector<std::unique_ptr<Doubling>> doubling;
  std::deque<InputRenewal> renewals;
  std::deque<measure::Call> calls;
  EndToEnd used = {.row = {}, .in_a_row = in_a_row, .pass = pass, .device = at::kCPU};
  for (int i = 0; i < programs; ++i) {
    Doubling& program = *doubling.emplace_back(std::make_unique<Doubling>(fault));
    InputRenewal& renewal = renewals.emplace_back(program, pass, 77, Integrity::fast);
    measure::Call& call = calls.emplace_back();
    call.before = [] {};
    call.run = [&] { throw_unless_ok(program.run(pass)); };
    call.in_a_row = [&](int n) {
      for (int k = 0; k < n; ++k) throw_unless_ok(program.run(pass));
    };
    used.row.push_back({call, program, renewal});
  }
  const Status status = agrees_with(sample_s, used);
  for (const InputRenewal& renewal : renewals) EXPECT_TRUE(renewal.unchanged().ok());
  return status;
}

constexpr double much_s = 10, nothing_s = 1e-9;

TEST(EndToEnd, WorkThatIsDoneWhenOutputsAreReadIsInTheTime) {
  EXPECT_TRUE(end_to_end(Fault::works_when_read, much_s).ok());
  EXPECT_THAT(end_to_end(Fault::works_when_read, nothing_s).reason,
              HasSubstr("until its outputs are read it takes"));
}

// Each call's is less than what all calls may take beside their samples.
TEST(EndToEnd, ShortWorkOfManyCallsAddsUp) {
  for (const auto& [programs, in_a_row] : {std::pair(32, 0), {1, 0}, {1, 32}}) {
    EXPECT_TRUE(end_to_end(Fault::works_a_little_when_read, much_s, programs, in_a_row).ok());
    EXPECT_THAT(end_to_end(Fault::works_a_little_when_read, nothing_s, programs, in_a_row).reason,
                HasSubstr("until its outputs are read it takes"));
  }
}

TEST(EndToEnd, RanksAgreeOnWhatTheSlowestHasFound) {
  Doubling program(Fault::none);
  InputRenewal renewal(program, "forward", 77, Integrity::fast);
  const std::string pass = "forward";
  const measure::Call call{[] {}, [&] { throw_unless_ok(program.run(pass)); }};
  int met = 0;
  const EndToEnd used = {.row = {{call, program, renewal}},
                         .pass = pass,
                         .device = at::kCPU,
                         .worst_of_ranks = [](double value) { return value + 3; },
                         .meet = [&] { ++met; }};
  EXPECT_FALSE(agrees_with(much_s / 10, used).ok());
  EXPECT_GE(met, 1);
}

// x = 2 x in place, for contents that it renews itself; or nothing.
class DoublingInPlace final : public test::IdleProgram {
 public:
  explicit DoublingInPlace(bool works) : works_(works) {}
  std::vector<std::uint64_t> numbers;

  Status run(const std::string&) noexcept override {
    if (works_) x_ *= 2;
    return {};
  }
  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    tensors = {{"x", x_}};
    return {};
  }
  Status renew(const std::string&, std::uint64_t number, int& inputs) noexcept override {
    numbers.push_back(number);
    x_.fill_(contents());
    inputs = 1;
    return {};
  }
  Status look(const std::string&, const Look&, Verification& found) noexcept override {
    const double error = (x_ - 2 * contents()).abs().max().item<double>();
    found = {.checked = true, .error = error, .tolerance = 0, .worst = "x"};
    return {};
  }

 private:
  double contents() const { return 1 + static_cast<double>(numbers.back() % 1000); }

  bool works_;
  at::Tensor x_ = at::ones({100});
};

TEST(TimedLooks, LeaveRenewalToAProgramWhoseCallsWriteOverTheirInputs) {
  for (const bool works : {true, false}) {
    DoublingInPlace program(works);
    InputRenewal renewal(program, "forward", 77, Integrity::fast);
    EXPECT_TRUE(renewal.renews());
    EXPECT_EQ(renewal.inputs(), 1);
    renewal.share(5);
    TimedLooks looks({.pass = "forward", .secret = 5, .readings = 2});
    renewal.renew_ahead();  // not begun: as built
    renewal.begin();
    for (int call = 0; call < 2; ++call) {
      renewal.renew_ahead();
      renewal.renew();
      throw_unless_ok(program.run("forward"));
      looks.look(program, renewal);
    }
    renewal.restore();
    EXPECT_EQ(looks.status().ok(), works) << looks.status().reason;
    ASSERT_EQ(program.numbers.size(), 4u);
    EXPECT_EQ(program.numbers[0], 0u);
    EXPECT_NE(program.numbers[1], program.numbers[2]);
    EXPECT_EQ(program.numbers[3], 0u);
  }
}

// Leaves a gradient of that size and compares nothing.
class LeavingAGradient final : public test::IdleProgram {
 public:
  explicit LeavingAGradient(double value) : gradient_(at::full({5}, value)) {}
  Status of_looks;       // what they return
  Verification to_find;  // and find

  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    tensors = {{"grad.w", gradient_}};
    return {};
  }
  Status expect_look(const std::string&) noexcept override { return of_looks; }
  Status look(const std::string&, const Look&, Verification& found) noexcept override {
    found = to_find;
    return of_looks;
  }

 private:
  at::Tensor gradient_;
};

// As behind the timed calls: OutputCheck.ATrainStepMovesOnButItsLossStaysFinite.
TEST(TimedLooks, AllowTheInfinitiesThatLaterChecksAllow) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto status = [](const std::string& pass, double value, bool loss_scaling) {
    LeavingAGradient program(value);
    const InputRenewal renewal(program, pass, 77, Integrity::fast);
    TimedLooks looks({.pass = pass, .secret = 5, .readings = 1, .loss_scaling = loss_scaling});
    looks.look(program, renewal);
    return looks.status();
  };
  EXPECT_TRUE(status("train_step", infinity, false).ok());
  EXPECT_TRUE(status("backward", infinity, true).ok());
  EXPECT_TRUE(status("train_step", std::nan(""), true).ok());
  EXPECT_THAT(status("backward", infinity, false).reason, HasSubstr("grad.w holds infinity"));
  EXPECT_THAT(status("train_step", std::nan(""), false).reason, HasSubstr("grad.w holds NaN"));
}

// Looks once at a program whose looks end like this.
store::TimedLooksFacts facts_of(const Status& of_looks, const Verification& to_find) {
  LeavingAGradient program(1);
  program.of_looks = of_looks;
  program.to_find = to_find;
  const InputRenewal renewal(program, "backward", 77, Integrity::fast);
  TimedLooks looks({.pass = "backward", .secret = 5, .readings = 1});
  looks.look(program, renewal);
  EXPECT_TRUE(looks.status().ok()) << looks.status().reason;
  EXPECT_EQ(looks.looked(), looks.facts().looks == 1);
  return looks.facts();
}

TEST(TimedLooks, CountOnlyThoseThatComparedSomething) {
  const auto compared = facts_of({}, {.checked = true, .error = 0.5, .tolerance = 1});
  EXPECT_EQ(compared.looks, 1);
  EXPECT_EQ(compared.error, 0.5);
  EXPECT_FALSE(compared.left_out);
  const auto silent = facts_of({}, {});
  EXPECT_EQ(silent.looks, 0);
  EXPECT_EQ(silent.left_out, "the workload compares nothing");
  EXPECT_FALSE(silent.error);
  EXPECT_EQ(facts_of({}, {.left_out = "of several calls"}).left_out, "of several calls");
}

TEST(TimedLooks, ThatLackMemoryAreLeftOut) {
  const auto facts = facts_of({Outcome::oom, "the host has no more"}, {.checked = true});
  EXPECT_EQ(facts.looks, 0);
  EXPECT_EQ(facts.left_out, "the host has no more");

  LeavingAGradient program(1);
  TimedLooks looks({.pass = "backward", .secret = 5, .readings = 1});
  EXPECT_TRUE(looks.expect(program));
  program.of_looks = {Outcome::oom, "no room for a copy"};
  EXPECT_FALSE(looks.expect(program));
  EXPECT_EQ(looks.facts().left_out, "no room for a copy");
  program.of_looks = {Outcome::error, "broken"};
  EXPECT_THROW(looks.expect(program), PluginFailure);
}

// All of them decide together whether another look is wanted.
TEST(TimedLooks, CountOnAllRanksOrOnNone) {
  LeavingAGradient program(1);
  program.to_find = {.checked = true, .error = 0.5, .tolerance = 1};
  const InputRenewal renewal(program, "backward", 77, Integrity::fast);
  int asked = 0;
  // The third question of a look is whether all have compared.
  TimedLooks looks(
      {.pass = "backward", .secret = 5, .readings = 1, .worst_of_ranks = [&](double value) {
         return ++asked == 3 ? 1 : value;
       }});
  looks.look(program, renewal);
  EXPECT_EQ(looks.facts().looks, 0);
  EXPECT_EQ(looks.facts().left_out, "another rank compared nothing");
  EXPECT_EQ(looks.facts().error, 0.5);
}

std::vector<std::size_t> wanted(std::uint64_t secret, int planned, std::size_t readings) {
  TimedLooks looks({.pass = "forward", .secret = secret, .readings = planned});
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < readings; ++i) {
    if (looks.wants(i)) found.push_back(i);
  }
  return found;
}

TEST(TimedLooks, ThreeOfThePlannedReadingsAreDrawnAndLaterOneOfEachDoubling) {
  EXPECT_EQ(wanted(1, 2, 2).size(), 2u);
  EXPECT_EQ(wanted(1, 10, 10).size(), 3u);
  EXPECT_EQ(wanted(1, 10, 80).size(), 6u);
  EXPECT_NE(wanted(1, 1000, 1000), wanted(2, 1000, 1000));
}

TEST(TimedLooks, FullTakesOneInTen) {
  TimedLooks looks(
      {.pass = "forward", .integrity = Integrity::full, .secret = 3, .readings = 10'000});
  int taken = 0;
  for (std::size_t i = 0; i < 10'000; ++i) taken += looks.wants(i) ? 1 : 0;
  EXPECT_NEAR(taken, 1000, 150);
}

TEST(TimedLooks, WithoutAWarmUpNoneIsTakenBetweenReadings) {
  TimedLooks looks({.pass = "forward", .secret = 3, .readings = 10, .between = false});
  for (std::size_t i = 0; i < 10; ++i) EXPECT_FALSE(looks.wants(i));
}

}  // namespace
}  // namespace assay::worker
