#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "compare/gates.h"
#include "compare/render.h"
#include "compare/sides.h"

namespace assay::cli {

namespace {

Usage compare_usage() {
  Usage usage{
      "compare",
      "A B",
      "Compares two sides case by case: faster, slower, same or inconclusive, with the ratio of\n"
      "medians and its interval. A side is a run, `latest`, an exported file (.jsonl, .csv),\n"
      "commit:PREFIX, machine:HOST or build:PREFIX, or several of these separated by commas.",
      "assay compare quickstart-1 latest\n"
      "  assay compare main.jsonl latest --fail-on slower:10%,undecided,not-compared",
      po::options_description("Options"),
      {}};
  add_results_option(usage.options);
  usage.options.add_options()("metric", po::value<std::string>()->value_name("NAME"),
                              "the metric to compare (default: time)")(
      "format", po::value<std::string>()->value_name("text|markdown|json"), "default: text")(
      "fail-on", po::value<std::vector<std::string>>()->value_name("VERDICT[:SIZE],…"),
      "exit with 1 when a result has this verdict, such as slower:5%; slower:5%,undecided also "
      "fails where the data cannot decide; may be repeated")(
      "significance", po::value<std::string>()->value_name("PERCENT"),
      "largest p at which a difference counts (default: 1%)")(
      "least", po::value<std::string>()->value_name("PERCENT"),
      "smallest difference that counts (default: 1%)")(
      "between-runs", po::value<std::string>()->value_name("PERCENT"),
      "assumed deviation from process to process where a side is a single run (default: 1.5%; "
      "15% on a CPU)")("side", po::value<std::vector<std::string>>()->value_name("SIDE"),
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
    return fail(ExitCode::bad_input, "--significance must be 0.0001% to 50%");
  }
  const auto least = compare::parse_percentage(text_or(values, "least", "1%"));
  if (!least) return tl::unexpected(least.error());
  question.criteria.significance = *significance;
  question.criteria.least = *least;
  if (values.count("between-runs") == 0) return question;
  const auto between_runs = compare::parse_percentage(text_or(values, "between-runs", ""));
  if (!between_runs) return tl::unexpected(between_runs.error());
  question.between_runs = *between_runs;
  return question;
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
  const auto gates = compare::parse_gates(texts(**values, "fail-on"));
  if (!gates) return tl::unexpected(gates.error());
  const auto comparison = comparison_of(**values);
  if (!comparison) return tl::unexpected(comparison.error());
  if (format == "json") {
    print_out("{}\n", compare::to_json(*comparison)
                          .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_out("{}", format == "text" ? compare::to_terminal(*comparison)
                                     : compare::to_markdown(*comparison));
  }
  const compare::GateFindings found = compare::apply(*gates, *comparison);
  std::fflush(stdout);
  for (const std::string& line : found.lines) print_error("{}\n", line);
  return found.fails ? ExitCode::some_case_not_ok : ExitCode::ok;
}

}  // namespace assay::cli
