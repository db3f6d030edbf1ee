#include <assay/workload.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "catalogue/catalogue.h"
#include "conformance/memory.h"
#include "conformance/operation.h"
#include "conformance/recording.h"
#include "conformance/tiny_model.h"
#include "expression/count_formula.h"
#include "expression/expression.h"

namespace assay::conformance {

namespace {

constexpr std::int64_t small = 24;

PluginDescription description_of(const Subject& subject) {
  PluginDescription description;
  throw_unless_ok(subject.entry().describe(description));
  return description;
}

Value small_value(const ParameterInfo& parameter) {
  const auto* number = std::get_if<std::int64_t>(&parameter.default_value);
  if (number == nullptr || parameter.type != ParameterType::integer || parameter.compiled) {
    return parameter.default_value;
  }
  const auto least = static_cast<std::int64_t>(parameter.minimum.value_or(1));
  return std::min(*number, std::max(least, small));
}

// Of another folder's files: each field's default, or the least that it may be.
Options smallest_fields(const ParameterInfo& parameter) {
  Options fields;
  for (const ParameterInfo& field : parameter.fields) {
    if (field.default_value.index() != 0) {
      fields[field.name] = field.default_value;
    } else if (field.minimum) {
      fields[field.name] = *field.minimum;
    } else {
      throw Unsupported("the suite has no small '" + field.name + "' of configs/" +
                        parameter.config_folder);
    }
  }
  return fields;
}

Options small_preset(const ParameterInfo& parameter) {
  if (parameter.config_folder != "models") return smallest_fields(parameter);
  return {{"d_model", std::int64_t{32}},
          {"d_ff", std::int64_t{48}},
          {"layers", std::int64_t{2}},
          {"heads", std::int64_t{2}},
          {"vocab_size", std::int64_t{61}}};
}

CaseContext small_case(const Subject& subject, const PluginDescription& description) {
  CaseContext context = textbook_context(subject.device());
  for (const ParameterInfo& parameter : description.parameters) {
    if (parameter.default_value.index() == 0) {
      throw Unsupported("parameter '" + parameter.name + "' has no default");
    }
    context.parameters[parameter.name] = small_value(parameter);
    if (!parameter.config_folder.empty() && to_text(parameter.default_value) != "") {
      context.presets[parameter.name] = small_preset(parameter);
    }
  }
  return context;
}

std::string outside_bounds(const ParameterInfo& parameter) {
  double number = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&parameter.default_value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&parameter.default_value)) {
    number = *real;
  } else {
    const auto& choices = parameter.choices;
    const bool listed =
        choices.empty() || std::find(choices.begin(), choices.end(),
                                     to_text(parameter.default_value)) != choices.end();
    return listed ? "" : "the default of '" + parameter.name + "' is not among its choices";
  }
  const bool inside =
      number >= parameter.minimum.value_or(number) && number <= parameter.maximum.value_or(number);
  return inside ? "" : "the default of '" + parameter.name + "' is outside its own bounds";
}

std::string wrong_in_passes(const WorkloadInfo& info) {
  if (info.passes.empty()) return "info() names no pass";
  if (info.default_passes.empty()) return "info() names no default pass";
  const std::set<std::string> known(info.passes.begin(), info.passes.end());
  if (known.size() != info.passes.size()) return "info() names a pass twice";
  for (const auto& pass : info.default_passes) {
    if (!known.contains(pass)) return "the default pass '" + pass + "' is not among the passes";
  }
  for (const auto& pass : info.unclocked) {
    if (!known.contains(pass))
      return "the pass '" + pass + "' in `unclocked` is not among the passes";
  }
  return {};
}

std::string wrong_in(const std::string& expression) {
  if (expression.empty()) return {};
  const auto compiled = Expression::compile(expression);
  return compiled ? "" : compiled.error().text();
}

CheckVerdict consistent(const Subject& subject) {
  const PluginDescription description = description_of(subject);
  const WorkloadInfo& info = description.workload;
  const auto wrong = [&]() -> std::string {
    if (auto found = wrong_in_passes(info); !found.empty()) return found;
    if (auto found = wrong_in_metrics(info.metrics); !found.empty()) return found;
    for (const std::string& kind : info.uses) {
      if (!catalogue::is_kind(kind)) return "info() uses the unknown kind '" + kind + "'";
    }
    if (info.default_clock != "wall" && info.default_clock != "cuda_event") {
      return "the default clock is wall or cuda_event, not '" + info.default_clock + "'";
    }
    for (const ParameterInfo& parameter : description.parameters) {
      if (parameter.description.empty()) {
        return "parameter '" + parameter.name + "' has no description";
      }
      if (auto found = outside_bounds(parameter); !found.empty()) return found;
    }
    if (auto found = wrong_in(description.memory_estimate); !found.empty()) {
      return "the memory estimate: " + found;
    }
    auto found = wrong_in(description.look_memory_estimate);
    return found.empty() ? found : "the estimate of a look's memory: " + found;
  };
  return {.complaint = wrong()};
}

class Built {
 public:
  Built(const Subject& subject, std::string pass) : pass_(std::move(pass)) {
    workload_ = subject.make<WorkloadBoundary>();
    context_ = small_case(subject, description_of(subject));
    throw_unless_ok(workload_->build(context_, program_));
  }

  void call() {
    throw_unless_ok(program_->before(pass_));
    throw_unless_ok(program_->run(pass_));
  }
  // Copies, which later calls cannot change.
  std::vector<NamedTensor> outputs() {
    std::vector<NamedTensor> tensors;
    throw_unless_ok(program_->outputs(pass_, tensors));
    for (auto& each : tensors) {
      if (each.tensor.defined()) each.tensor = each.tensor.detach().clone();
    }
    return tensors;
  }
  std::vector<NamedTensor> called() {
    call();
    return outputs();
  }
  std::vector<Count> counts() {
    std::vector<Count> counts;
    throw_unless_ok(program_->counts(pass_, counts));
    return counts;
  }
  ProgramBoundary& program() { return *program_; }
  // The names of the case, as formulas use them.
  Expression::Lookup lookup() const {
    return [this](const std::string& name) -> Value {
      if (name == "element_size") {
        return static_cast<std::int64_t>(c10::elementSize(context_.precision.compute()));
      }
      if (name == "world_size") return static_cast<std::int64_t>(context_.group.size);
      if (const auto own = context_.parameters.find(name); own != context_.parameters.end()) {
        return own->second;
      }
      for (const auto& [preset, fields] : context_.presets) {
        if (const auto field = fields.find(name); field != fields.end()) return field->second;
      }
      return {};
    };
  }

 private:
  std::string pass_;
  std::unique_ptr<WorkloadBoundary> workload_;
  CaseContext context_;
  std::unique_ptr<ProgramBoundary> program_;
};

std::string not_finite(const std::vector<NamedTensor>& outputs) {
  for (const auto& [name, tensor] : outputs) {
    if (!tensor.defined()) return name + " is undefined";
    if (!tensor.isfinite().all().item<bool>()) return name + " holds NaN or infinity";
  }
  return {};
}

CheckVerdict runs_twice(const Subject& subject, const std::string& pass) {
  Built built(subject, pass);
  for (int call = 1; call <= 2; ++call) {
    const std::string wrong = not_finite(built.called());
    if (!wrong.empty()) return {.complaint = fmt::format("after call {} {}", call, wrong)};
  }
  return {};
}

CheckVerdict same_outputs(const std::vector<NamedTensor>& first,
                          const std::vector<NamedTensor>& second, const char* what) {
  CheckVerdict verdict;
  if (first.size() != second.size()) {
    verdict.complaint =
        fmt::format("{} leave {} and {} outputs", what, first.size(), second.size());
    return verdict;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double tolerance = dtype_tolerance(first[i].tensor.scalar_type());
    compare(verdict, {first[i].name, first[i].tensor.to(at::kDouble), 0}, second[i].tensor,
            tolerance);
  }
  if (!verdict.complaint.empty()) {
    verdict.complaint = fmt::format("{} differ: {}", what, verdict.complaint);
  }
  return verdict;
}

CheckVerdict same_program_twice(const Subject& subject, const std::string& pass) {
  return same_outputs(Built(subject, pass).called(), Built(subject, pass).called(),
                      "two programs built alike");
}

CheckVerdict calls_are_isolated(const Subject& subject, const std::string& pass) {
  if (pass == "train_step") throw Unsupported("train_step: a step changes the parameters");
  Built built(subject, pass);
  const auto first = built.called();
  return same_outputs(first, built.called(), "two calls of one program");
}

bool unclocked(const PluginDescription& description, const std::string& pass) {
  const auto& passes = description.workload.unclocked;
  return std::find(passes.begin(), passes.end(), pass) != passes.end();
}

CheckVerdict verified(const Subject& subject, const std::string& pass) {
  if (unclocked(description_of(subject), pass))
    throw Unsupported(pass + ": it has no time to trust");
  const auto workload = subject.make<WorkloadBoundary>();
  const CaseContext context = small_case(subject, description_of(subject));
  Verification verification;
  throw_unless_ok(workload->verify(context, pass, verification));
  if (!verification.checked) return {.complaint = "verify() checks nothing"};
  CheckVerdict verdict{verification.error, verification.tolerance, {}, {}};
  if (!(verification.error <= verification.tolerance)) {
    verdict.complaint = fmt::format("{} is off by {:.2g}, more than {:.2g}, with textbook variants",
                                    verification.worst, verification.error, verification.tolerance);
  }
  return verdict;
}

CheckVerdict counted(const Subject& subject, const std::string& pass) {
  const PluginDescription description = description_of(subject);
  Built built(subject, pass);
  built.call();
  for (const Count& count : built.counts()) {
    if (!std::isfinite(count.value) || count.value <= 0) {
      return {.complaint = fmt::format("{} is {:g}", count.metric, count.value)};
    }
    const auto& metrics = description.workload.metrics;
    const auto declared =
        std::find_if(metrics.begin(), metrics.end(),
                     [&](const MetricInfo& metric) { return metric.name == count.metric; });
    if (declared == metrics.end()) {
      return {.complaint = "info() does not declare the metric " + count.metric};
    }
    const auto derived = counted_by_formula(declared->formula, pass, built.lookup());
    if (count.part.empty() && derived && std::abs(*derived - count.value) > 1e-9 * count.value) {
      return {.complaint = fmt::format("{} is {:g}, its formula says {:g}", count.metric,
                                       count.value, *derived)};
    }
  }
  return {};
}

CheckVerdict recorded(const Subject& subject, const std::string& pass) {
  const PluginDescription description = description_of(subject);
  Built built(subject, pass);
  built.call();
  TrialRecorder trial(pass, "it", description.workload.metrics);
  throw_unless_ok(built.program().record(pass, trial.recorder()));
  const bool nothing = trial.recorded().empty() && built.counts().empty();
  return {.complaint = nothing && unclocked(description, pass)
                           ? "the pass has no clock, and it records and counts nothing"
                           : ""};
}

CheckVerdict pass_frees_memory(const Subject& subject, const std::string& pass) {
  Built built(subject, pass);
  return frees_memory(subject.device(), [&] { built.call(); });
}

CheckVerdict refuses_unknown_pass(const Subject& subject) {
  Built built(subject, "forward");
  Status status = built.program().before("no such pass");
  if (status.ok()) status = built.program().run("no such pass");
  if (!status.ok()) return {};
  return {.complaint = "it accepts a pass that it does not have"};
}

// The plugin names its own passes; a check that cannot get them reports why when it runs.
Check over_passes(const Subject& subject, std::string name, std::string sentence,
                  CheckVerdict (*judge)(const Subject&, const std::string&)) {
  Check check{std::move(name), std::move(sentence), {}};
  PluginDescription description;
  const Status described = subject.entry().describe(description);
  if (!described.ok()) {
    check.cases.push_back(
        {"info()", [described]() -> CheckVerdict { throw PluginFailure(described); }});
  }
  for (const std::string& pass : description.workload.passes) {
    check.cases.push_back({pass + " with every parameter small",
                           [subject, judge, pass] { return judge(subject, pass); }});
  }
  return check;
}

}  // namespace

std::vector<Check> workload_checks(const Subject& subject) {
  return {
      {"description",
       "Its passes, parameters and metrics are consistent.",
       {{"info() and options()", [subject] { return consistent(subject); }}}},
      over_passes(subject, "passes", "Every pass runs twice and leaves finite outputs.",
                  runs_twice),
      over_passes(subject, "repeatable", "Two programs built alike give the same outputs.",
                  same_program_twice),
      over_passes(subject, "isolation", "Earlier calls do not affect a call's outputs.",
                  calls_are_isolated),
      over_passes(subject, "verification", "It is verified, and textbook variants pass.", verified),
      over_passes(subject, "counts",
                  "Counts are positive, finite, declared and as their formulas say.", counted),
      over_passes(subject, "recording", "What it records is declared and bounded.", recorded),
      over_passes(subject, "memory", "Repeated calls leave no memory allocated.",
                  pass_frees_memory),
      {"unknown_pass",
       "It refuses an unknown pass.",
       {{"a pass named 'no such pass'", [subject] { return refuses_unknown_pass(subject); }}}},
  };
}

}  // namespace assay::conformance
