#include "conformance/check.h"

#include <algorithm>

#include "measure/device.h"

namespace assay::conformance {

namespace {

Check creation(const Subject& subject) {
  return {"creation",
          "It can be made, and made again while the first one lives.",
          {{"made twice", [subject] {
              const auto first = subject.make<Boundary>();
              const auto second = subject.make<Boundary>();
              return CheckVerdict{};
            }}}};
}

std::vector<Check> checks_of_kind(const Subject& subject) {
  const std::string kind = subject.entry().kind;
  if (kind == "attention") return attention_checks(subject);
  if (kind == "norm") return norm_checks(subject);
  if (kind == "precision") return precision_checks(subject);
  if (kind == "compile") return compile_checks(subject);
  if (kind == "communication") return communication_checks(subject);
  if (kind == "workload") return workload_checks(subject);
  if (kind == "observer") return observer_checks(subject);
  throw Unsupported("there is no conformance suite for the kind '" + kind + "'");
}

// Keeps the case nearest to, or farthest beyond, its own tolerance.
void keep_worst(wire::CheckResult& result, const CheckVerdict& verdict) {
  if (verdict.tolerance <= 0) return;
  const bool first = result.tolerance <= 0;
  if (first || verdict.error * result.tolerance > result.error * verdict.tolerance) {
    result.error = verdict.error;
    result.tolerance = verdict.tolerance;
  }
}

void fail_case(wire::CheckResult& result, const Case& tested, std::string complaint) {
  if (result.failed == 0) {
    result.smallest = tested.text;
    result.complaint = std::move(complaint);
  }
  ++result.failed;
}

void decline_case(wire::CheckResult& result, std::string reason) {
  ++result.declined;
  if (std::find(result.reasons.begin(), result.reasons.end(), reason) == result.reasons.end()) {
    result.reasons.push_back(std::move(reason));
  }
}

std::string complaint_of(const Status& status) {
  return status.outcome == Outcome::oom ? "out of memory: " + status.reason
                                        : "error: " + status.reason;
}

}  // namespace

std::vector<Check> suite(const Subject& subject) {
  std::vector<Check> checks = {creation(subject)};
  for (Check& check : checks_of_kind(subject)) checks.push_back(std::move(check));
  return checks;
}

wire::CheckResult run(const Check& check, const std::function<void(const std::string&)>& begins) {
  wire::CheckResult result;
  result.check = check.name;
  for (const Case& tested : check.cases) {
    begins(tested.text);
    CheckVerdict verdict;
    const Status status = guarded([&] { verdict = tested.run(); });
    if (status.outcome == Outcome::unsupported) {
      decline_case(result, status.reason);
      continue;
    }
    if (result.note.empty() && !verdict.note.empty()) {
      result.note = tested.text + ": " + verdict.note;
    }
    if (!status.ok()) {
      fail_case(result, tested, complaint_of(status));
      continue;
    }
    keep_worst(result, verdict);
    if (verdict.complaint.empty()) {
      ++result.passed;
    } else {
      fail_case(result, tested, verdict.complaint);
    }
  }
  return result;
}

}  // namespace assay::conformance
