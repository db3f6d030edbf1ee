#include <ATen/core/grad_mode.h>
#include <assay/compile.h>
#include <fmt/format.h>

#include "conformance/compile_operations.h"
#include "conformance/memory.h"
#include "conformance/operation.h"
#include "conformance/tiny_model.h"
#include "measure/device.h"

namespace assay::conformance {

namespace {

constexpr int calls = 4;
// Fused operations may round differently.
constexpr double replayed_tolerance = 1e-4;
// An optimizer divides by values near zero, so parameters are compared as a whole.
constexpr double gradient_allowance = 10;

enum class Change { nothing, tokens, parameters };

// The same program launched by the plugin and called directly.
class Pair {
 public:
  Pair(CompileBoundary& plugin, const at::Device& device, const std::string& pass)
      : pass_(pass), eager_(textbook_context(device)) {
    CaseContext context = textbook_context(device);
    throw_unless_ok(plugin.select(context.ops, {}));
    context.compile = &plugin;
    auto program = std::make_unique<TinyModel>(context);
    tested_ = program.get();
    boundary_ = std::make_unique<detail::ProgramGuard>(std::move(program));
    throw_unless_ok(plugin.prepare(*boundary_, pass, context, step_));
    // Preparing may already have trained.
    tested_->restart_from(eager_);
  }

  void change(Change what, int call) {
    for (TinyModel* each : {tested_, &eager_}) {
      if (what == Change::tokens) each->draw_tokens(static_cast<std::uint64_t>(call));
      if (what == Change::parameters) each->scale_parameters(1 + 0.1 * call);
    }
  }

  void call(CheckVerdict& verdict) {
    call_tested();
    eager_.before(pass_);
    eager_.run(pass_);
    const auto values = tested_->outputs(pass_);
    for (const auto& [name, reference] : eager_.outputs(pass_)) {
      at::Tensor value;
      for (const auto& each : values) {
        if (each.name == name) value = each.tensor;
      }
      const bool loose = name.starts_with("grad.") || name.starts_with("parameter.");
      compare(verdict, {name, reference.to(at::kDouble), 0}, value,
              loose ? gradient_allowance * replayed_tolerance : replayed_tolerance);
    }
  }

  void call_tested() {
    throw_unless_ok(step_.before());
    throw_unless_ok(step_.run());
  }

 private:
  std::string pass_;
  TinyModel eager_;
  TinyModel* tested_ = nullptr;
  std::unique_ptr<ProgramBoundary> boundary_;
  GuardedStep step_;  // destroyed first: it refers to the program
};

CheckVerdict follows(const Subject& subject, const std::string& pass, Change change) {
  const auto plugin = subject.make<CompileBoundary>();
  Pair pair(*plugin, subject.device(), pass);
  CheckVerdict verdict;
  for (int call = 0; call < calls && verdict.complaint.empty(); ++call) {
    pair.change(change, call);
    pair.call(verdict);
    if (!verdict.complaint.empty()) {
      verdict.complaint = fmt::format("call {}: {}", call + 1, verdict.complaint);
    }
  }
  return verdict;
}

CheckVerdict do_not_mix(const Subject& subject, const std::string& pass) {
  const auto plugin = subject.make<CompileBoundary>();
  Pair first(*plugin, subject.device(), pass);
  Pair second(*plugin, subject.device(), pass);
  second.change(Change::tokens, 7);
  CheckVerdict verdict;
  for (int call = 0; call < 2 && verdict.complaint.empty(); ++call) {
    first.call(verdict);
    second.call(verdict);
  }
  return verdict;
}

CheckVerdict step_frees_memory(const Subject& subject, const std::string& pass) {
  const auto plugin = subject.make<CompileBoundary>();
  Pair pair(*plugin, subject.device(), pass);
  return frees_memory(subject.device(), [&] { pair.call_tested(); });
}

class Throws final : public Program {
 public:
  void run(const std::string&) override { throw std::runtime_error("thrown on purpose"); }
};

CheckVerdict hands_on_failures(const Subject& subject) {
  const auto plugin = subject.make<CompileBoundary>();
  detail::ProgramGuard program(std::make_unique<Throws>());
  GuardedStep step;
  Status status = plugin->prepare(program, "forward", textbook_context(subject.device()), step);
  if (status.ok()) status = step.before();
  if (status.ok()) status = step.run();
  if (status.outcome == Outcome::unsupported) throw Unsupported(status.reason);
  if (status.ok()) return {.complaint = "the program threw, but the step reports success"};
  if (status.reason.find("thrown on purpose") != std::string::npos) return {};
  return {.complaint = "the program's reason is lost; it says: " + status.reason};
}

// Pins what an experiment can name: a call that misses one of ours shows a replacement.
CheckVerdict respects_pins(const Subject& subject) {
  const auto plugin = subject.make<CompileBoundary>();
  Ops ops = textbook_context(subject.device()).ops;
  int norms = 0;
  int add_norms = 0;
  int attentions = 0;
  ops.norm = [&](const NormInputs& in) { return ++norms, in.x; };
  ops.add_norm = [&](at::Tensor residual, const NormInputs& in) {
    ++add_norms;
    return std::pair(residual, in.x);
  };
  ops.attention = [&](const AttentionInputs& in) { return ++attentions, in.q; };
  throw_unless_ok(plugin->select(ops, {"attention", "norm", "precision", "communication"}));
  const auto x = at::ones({1, 1, 2, 4}, at::TensorOptions().device(subject.device()));
  if (!ops.norm || !ops.add_norm || !ops.attention)
    return {.complaint = "select() took an operation away"};
  ops.norm({x, x[0][0][0], {}, 1e-5});
  ops.add_norm(x, {x, x[0][0][0], {}, 1e-5});
  ops.attention({x, x, x, false, 1});
  if (norms == 0) return {.complaint = "select() replaced the norm though it is pinned"};
  if (add_norms == 0) {
    return {.complaint = "select() replaced the norm's residual entry though it is pinned"};
  }
  if (attentions == 0) return {.complaint = "select() replaced the attention though it is pinned"};
  return {};
}

Check over_passes(std::string name, std::string sentence,
                  const std::function<CheckVerdict(const std::string&)>& judge) {
  Check check{std::move(name), std::move(sentence), {}};
  for (const std::string& pass : TinyModel::passes()) {
    check.cases.push_back(
        {fmt::format("{}: {}", pass, tiny_model_text), [judge, pass] { return judge(pass); }});
  }
  return check;
}

}  // namespace

std::vector<Check> compile_checks(const Subject& subject) {
  const auto follow = [&](Change change) {
    return [subject, change](const std::string& pass) { return follows(subject, pass, change); };
  };
  std::vector<Check> checks = {
      over_passes("results", "Every pass gives the same results as its operations one by one.",
                  follow(Change::nothing)),
      over_passes("changed_inputs", "Each call reads the current tokens.", follow(Change::tokens)),
      over_passes("changed_parameters", "Each call reads the current parameters.",
                  follow(Change::parameters)),
      over_passes("two_programs", "Steps of two programs do not disturb each other.",
                  [subject](const std::string& pass) { return do_not_mix(subject, pass); }),
      {"pinned",
       "It does not replace operations that an experiment names.",
       {{"attention and norm pinned", [subject] { return respects_pins(subject); }}}},
      {"failures",
       "A program's exception comes back with its reason.",
       {{"a program that throws", [subject] { return hands_on_failures(subject); }}}},
      over_passes("memory", "Repeated calls leave no memory allocated.",
                  [subject](const std::string& pass) { return step_frees_memory(subject, pass); }),
  };
  for (Check& check : selected_operation_checks(subject)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace assay::conformance
