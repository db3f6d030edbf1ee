#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "compare/render.h"
#include "compare/sides.h"

namespace assay::cli {

namespace {

Usage compare_usage() {
  Usage usage{
      "compare",
      "A B",
      "Compares what two sides measured, case by case: faster, slower, same or inconclusive, with\n"
      "the ratio of medians and its interval. A side is a run, `latest`, an exported file "
      "(.jsonl,\n"
      ".csv), commit:PREFIX, machine:HOST or build:PREFIX, or several of these with commas.",
      "assay compare quickstart-1 latest\n"
      "  assay compare main.jsonl latest --fail-on slower:5% --fail-on not-compared",
      po::options_description("Options"),
      {}};
  add_results_option(usage.options);
  usage.options.add_options()("metric", po::value<std::string>()->value_name("NAME"),
                              "what is compared (default: time)")(
      "format", po::value<std::string>()->value_name("text|markdown|json"), "default: text")(
      "fail-on", po::value<std::vector<std::string>>()->value_name("VERDICT[:SIZE]"),
      "exit with 1 when a result is so, such as slower:5%; may be repeated")(
      "significance", po::value<std::string>()->value_name("PERCENT"),
      "largest p of a difference that counts (default: 1%)")(
      "least", po::value<std::string>()->value_name("PERCENT"),
      "smallest difference that counts (default: 1%)")(
      "between-runs", po::value<std::string>()->value_name("PERCENT"),
      "what a side of a single run is supposed to deviate by from process to process (default: "
      "1.5%)")("side", po::value<std::vector<std::string>>()->value_name("SIDE"),
               "A, then B; the same as the arguments");
  usage.positions.add("side", -1);
  return usage;
}

Result<compare::Question> question_of(const po::variables_map& values) {
  compare::Question question;
  question.metric = text_or(values, "metric", question.metric);
  const auto significance = compare::parse_percentage(text_or(values, "significance", "1%"));
  if (!significance) return tl::unexpected(significance.error());
  if (*significance < 1e-6 || *significance > 0.5) {
    return fail(ExitCode::bad_input, "--significance is 0.0001% to 50%");
  }
  const auto least = compare::parse_percentage(text_or(values, "least", "1%"));
  if (!least) return tl::unexpected(least.error());
  const auto between_runs = compare::parse_percentage(text_or(values, "between-runs", "1.5%"));
  if (!between_runs) return tl::unexpected(between_runs.error());
  question.criteria = {*significance, *least, *between_runs};
  return question;
}

Result<std::vector<compare::Gate>> gates_of(const po::variables_map& values) {
  std::vector<compare::Gate> gates;
  for (const std::string& text : texts(values, "fail-on")) {
    const auto gate = compare::parse_gate(text);
    if (!gate) return tl::unexpected(gate.error());
    gates.push_back(*gate);
  }
  return gates;
}

Result<compare::Comparison> comparison_of(const po::variables_map& values) {
  const std::vector<std::string> sides = texts(values, "side");
  if (sides.size() != 2) {
    return fail(ExitCode::bad_input, fmt::format("two sides are compared, not {}", sides.size()),
                "for example `assay compare quickstart-1 latest`; join the runs of one side with "
                "commas");
  }
  const auto question = question_of(values);
  if (!question) return tl::unexpected(question.error());
  const auto open = [&] { return open_database(values, store::Access::read_only); };
  const auto a = compare::read_side(sides[0], open);
  if (!a) return tl::unexpected(a.error());
  const auto b = compare::read_side(sides[1], open);
  if (!b) return tl::unexpected(b.error());
  return compare::compare(*a, *b, *question);
}

// What stood in the way of exit code 0, for standard error; "" for nothing.
std::string verdict_for_gates(const compare::Comparison& comparison,
                              const std::vector<compare::Gate>& gates) {
  const auto& rows = comparison.rows;
  const bool none = std::all_of(rows.begin(), rows.end(), [](const compare::Row& row) {
    return row.verdict == compare::Verdict::not_compared;
  });
  if (none) return "nothing could be compared";
  std::vector<std::string> met;
  for (const compare::Gate& gate : gates) {
    const auto count = std::count_if(rows.begin(), rows.end(), [&](const compare::Row& row) {
      return compare::meets(row, gate);
    });
    if (count == 0) continue;
    const std::string size = gate.least > 0 ? fmt::format(" by {:g} %", gate.least * 100) : "";
    met.push_back(fmt::format("{} of {} {}{}", count, rows.size(), to_text(gate.verdict), size));
  }
  return met.empty() ? "" : "--fail-on: " + join(met, "; ");
}

}  // namespace

Result<ExitCode> compare_command(const Arguments& arguments) {
  const auto values = parse(compare_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const std::string format = text_or(**values, "format", "text");
  if (format != "text" && format != "markdown" && format != "json") {
    return fail(ExitCode::bad_input, fmt::format("unknown format '{}'{}", format,
                                                 suggestion(format, {"text", "markdown", "json"})));
  }
  const auto gates = gates_of(**values);
  if (!gates) return tl::unexpected(gates.error());
  const auto comparison = comparison_of(**values);
  if (!comparison) return tl::unexpected(comparison.error());
  if (format == "json") {
    fmt::print("{}\n", compare::to_json(*comparison)
                           .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", format == "text" ? compare::to_terminal(*comparison)
                                      : compare::to_markdown(*comparison));
  }
  const std::string complaint = verdict_for_gates(*comparison, *gates);
  if (complaint.empty()) return ExitCode::ok;
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", complaint);
  return ExitCode::some_case_not_ok;
}

}  // namespace assay::cli
