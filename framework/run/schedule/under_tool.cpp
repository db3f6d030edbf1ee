#include "run/schedule/under_tool.h"

#include <fmt/format.h>

#include <algorithm>
namespace assay::run {

Result<void> check_under(const ProfilingTool* tool, const Work& work) {
  if (tool == nullptr) return {};
  for (std::size_t index = 0; index < work.size(); ++index) {
    if (!work.chosen(index)) continue;
    const ResolvedCase resolved = work.resolved(index);
    const std::vector<std::string>& observers = resolved.request.observers;
    if (std::find(observers.begin(), observers.end(), "kernels") != observers.end()) {
      return fail(ExitCode::bad_input,
                  fmt::format("--under {} and `observe: kernels` both profile case {}",
                              tool->name(), index + 1),
                  "the GPU serves one profiler at a time: leave out one, e.g. --set observe=[]");
    }
    if (tool->name() == "ncu" && world_size_of(resolved) > 1) {
      return fail(
          ExitCode::bad_input,
          fmt::format("--under ncu: case {} has {} ranks", index + 1, world_size_of(resolved)),
          "it runs kernels again and again, for which the other ranks do not wait; "
          "`--under nsys` takes several ranks");
    }
  }
  return {};
}

Result<void> check_begun_under(const ProfilingTool* tool, const store::RunInfo& run) {
  const std::string now = tool == nullptr ? "" : tool->name();
  const std::string begun = run.first.provenance.value("under", "");
  if (now == begun) return {};
  return fail(ExitCode::bad_input,
              fmt::format("the run '{}' was begun {}", run.name,
                          begun.empty() ? "without a profiler" : "under " + begun),
              begun.empty()
                  ? "its times would be lost: leave out --under, or begin a new run"
                  : fmt::format("complete it with --under {}, or begin a new run", begun));
}

void drop_measured(const ProfilingTool& tool, CaseEnd& end) {
  if (end.outcome == Outcome::skipped) return;
  std::erase_if(end.series,
                [](const store::Series& series) { return series.outcome == Outcome::ok; });
  end.facts.timing.clear();
  end.facts.marks.push_back(
      {"under", "", fmt::format("ran under {}, whose times are not kept", tool.name())});
}

}  // namespace assay::run
