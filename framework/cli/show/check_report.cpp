#include "cli/show/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/output.h"
#include "base/printable.h"
#include "base/text.h"
#include "run/workers/worker.h"

namespace assay::cli {

namespace {

constexpr std::size_t status_width = 30;

bool passed(const wire::CheckResult& result) { return result.failed == 0 && result.passed > 0; }

std::string cases(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "case" : "cases");
}

std::string status(const wire::CheckResult& result) {
  if (result.failed > 0) {
    const auto ran = result.failed + result.passed;
    return ran == result.failed ? fmt::format("FAILED  {}", cases(result.failed))
                                : fmt::format("FAILED  {} of {}", result.failed, cases(ran));
  }
  if (result.passed == 0) return "not applicable";
  std::string text = "ok      " + cases(result.passed);
  if (result.declined > 0) text += fmt::format(", {} declined", result.declined);
  return text;
}

}  // namespace

void CheckReport::started(const wire::CheckSuite& suite) {
  titles_ = suite.checks;
  for (const auto& title : titles_) name_width_ = std::max(name_width_, title.name.size());
  print_out("{}\n", title_);
  std::fflush(stdout);
}

void CheckReport::doing(const wire::CheckBegins& begins) {
  if (!terminal_) return;
  std::string line = fmt::format("  {} {}", begins.check, begins.text);
  if (line.size() > 78) line.resize(78);
  print_error("\r\033[K{}", line);
}

void CheckReport::finished(const wire::CheckResult& result) {
  // A worker that dies after a check turns that check's result into a failure.
  std::erase_if(results_, [&](const auto& before) { return before.check == result.check; });
  results_.push_back(result);
  if (terminal_) print_error("\r\033[K");
  print_line(result);
  std::fflush(stdout);
}

void CheckReport::ended(const wire::CheckResult& result, const run::WorkerEnd& end) {
  ends_[result.check] = end;
  finished(result);
}

void CheckReport::print_line(const wire::CheckResult& result) {
  std::string rest;
  if (result.tolerance > 0) {
    rest = fmt::format("worst error {:.2g}, allowed {:.2g}", result.error, result.tolerance);
  } else if (result.passed == 0 && result.failed == 0) {
    rest = join(result.reasons, "; ");
  }
  std::string line = fmt::format("  {:<{}}  {:<{}}  {}", result.check, name_width_, status(result),
                                 status_width, rest);
  line.erase(line.find_last_not_of(' ') + 1);
  print_out("{}\n", line);
}

std::string CheckReport::sentence(const std::string& check) const {
  for (const auto& title : titles_) {
    if (title.name == check) return title.sentence;
  }
  return {};
}

void CheckReport::print_failure(const wire::CheckResult& result) const {
  print_out("\n{} does not hold: {}\n  smallest case: {}\n  {}\n", result.check,
            sentence(result.check), result.smallest, result.complaint);
  const auto end = ends_.find(result.check);
  if (end == ends_.end() || end->second.calls.empty()) return;
  print_out("  called by\n");
  for (const std::string& call : end->second.calls) {
    print_out("    {}\n", printable(call));
  }
}

void CheckReport::print_failures() const {
  std::map<std::string, std::string> first_of;  // the check by how its worker ended
  for (const auto& result : results_) {
    if (result.failed == 0) continue;
    const auto end = ends_.find(result.check);
    const bool is_first =
        end == ends_.end() || first_of.try_emplace(end->second.how, result.check).second;
    if (is_first) {
      print_failure(result);
    } else {
      print_out("\n{} does not hold: it ends like {}\n  smallest case: {}\n", result.check,
                first_of.at(end->second.how), result.smallest);
    }
  }
}

void CheckReport::print_remarks() const {
  std::vector<std::string> reasons;
  for (const auto& result : results_) {
    for (const std::string& reason : result.reasons) {
      const bool listed = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
      if (!listed && (result.passed > 0 || result.failed > 0)) reasons.push_back(reason);
    }
  }
  if (!reasons.empty()) print_out("\ndeclined:\n  {}\n", join(reasons, "\n  "));
  for (const auto& result : results_) {
    if (!result.note.empty()) print_out("\nnote on {}: {}\n", result.check, result.note);
  }
}

bool CheckReport::failed() const {
  return std::any_of(results_.begin(), results_.end(),
                     [](const auto& result) { return result.failed > 0; });
}

bool CheckReport::applied() const {
  return std::any_of(results_.begin(), results_.end(), [](const auto& result) {
    return result.check != "creation" && result.passed + result.failed > 0;
  });
}

void CheckReport::conclude() {
  print_failures();
  print_remarks();
  const auto count = [&](auto&& holds) {
    return std::count_if(results_.begin(), results_.end(), holds);
  };
  const auto ok = count([](const auto& result) { return passed(result); });
  const auto wrong = count([](const auto& result) { return result.failed > 0; });
  print_out("\n{} ok, {} failed, {} not applicable\n", ok, wrong,
            static_cast<std::int64_t>(results_.size()) - ok - wrong);
  if (left_.empty()) return;
  print_out("{} not begun, since {} ended or hung in the middle: {}\n`--all` runs the rest\n",
            counted(left_.size(), "check was", "checks were"),
            counted(ends_.size(), "check", "checks"), join(left_, ", "));
}

}  // namespace assay::cli
