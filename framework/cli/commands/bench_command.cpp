#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/output.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/bench/bench_experiment.h"
#include "cli/bench/bench_output.h"
#include "cli/bench/bench_words.h"
#include "cli/commands/commands.h"
#include "cli/planned.h"
#include "cli/show/progress.h"
#include "cli/show/render.h"
#include "run/plugins/compiled_options.h"
#include "run/plugins/plugin_source.h"
#include "run/schedule/runner.h"
#include "store/database/baselines.h"

namespace assay::cli {

namespace {

constexpr int usual_runs = 3;

Usage bench_usage() {
  Usage usage{
      "bench",
      "KIND VARIANT|SOURCE… [--PARAMETER VALUE[,VALUE…]]…",
      "Compares variants without a YAML file: measures them in turns until their medians are known "
      "to\n1 %, in several processes each, and says which is faster. A source (.cpp, .cu, a "
      "folder), "
      "a library\n(.so) or a descriptor (.yaml) stands for the variants in it. Any parameter of "
      "the "
      "workload, option\nof the kind or setting of `measure` is an option here; several values are "
      "an axis. attention and\nnorm are measured by themselves, other kinds in model_step.",
      "assay bench attention naive flash_libtorch mine.cu --seq-len 1024,4096 --precision bf16\n"
      "  assay bench norm layernorm mine.cpp --passes forward --save-baseline main\n"
      "  assay bench norm layernorm mine.cpp --passes forward --baseline main",
      po::options_description("Options"),
      {}};
  po::options_description& options = usage.options;
  const auto file = [] { return po::value<std::string>()->value_name("FILE"); };
  options.add_options()("workload", po::value<std::string>()->value_name("NAME"),
                        "what the variants are measured in")(
      "runs", po::value<int>()->value_name("N")->default_value(usual_runs),
      "processes that each variant is measured in; with several, what differs between processes "
      "counts")("set", po::value<std::vector<std::string>>()->value_name("NAME=YAML"),
                "a parameter that has no option here, such as one with the name of an option; may "
                "be repeated")("write", file(), "write the experiment as YAML to this file")(
      "export-json", file(), "write results and comparisons as JSON, with every sample")(
      "export-csv", file(), "write a line for each result as CSV")(
      "export-markdown", file(), "write table and sentences as Markdown");
  add_name_options(options);
  add_plugin_option(options);
  add_results_option(options);
  add_external_option(options);
  return usage;
}

bool is_source(const std::string& subject) {
  const std::string ending = std::filesystem::path(subject).extension().string();
  std::error_code ignored;
  return ending == ".cpp" || ending == ".cu" || ending == ".so" || ending == ".yaml" ||
         subject.find('/') != std::string::npos || std::filesystem::is_directory(subject, ignored);
}

// The files whose variants a subject stands for, as the catalogue names them.
Result<std::vector<std::filesystem::path>> files_of(const run::Installation& installation,
                                                    const std::string& source) {
  const std::string ending = std::filesystem::path(source).extension().string();
  if (ending == ".so" || ending == ".yaml") return std::vector<std::filesystem::path>{source};
  std::error_code ignored;  // one library has one path in the catalogue
  return run::build_plugin(installation,
                           std::filesystem::absolute(source, ignored).lexically_normal());
}

// Variants by name, a source's in the catalogue's order.
Result<std::vector<std::string>> variants_of(const Context& context, const BenchWords& words) {
  std::vector<std::string> variants;
  const auto add = [&](const std::string& name) {
    if (std::ranges::count(variants, name) == 0) variants.push_back(name);
  };
  for (const std::string& subject : words.subjects) {
    if (!is_source(subject)) {
      add(subject);
      continue;
    }
    const auto files = files_of(context.installation, subject);
    if (!files) return tl::unexpected(files.error());
    std::size_t found = 0;
    for (const auto* plugin : context.catalogue.of_kind(words.kind)) {
      const bool is_of = std::ranges::any_of(*files, [&](const std::filesystem::path& file) {
        std::error_code ignored;
        return std::filesystem::equivalent(file, plugin->file, ignored);
      });
      if (!is_of) continue;
      add(plugin->name);
      ++found;
    }
    if (found == 0) {
      return fail(ExitCode::bad_input, fmt::format("{} holds no {}", subject, words.kind),
                  "`assay list --plugin FILE` says what it holds");
    }
  }
  return variants;
}

Result<BenchRequest> request_of(const Context& context, const BenchWords& words,
                                const po::variables_map& values) {
  BenchRequest request;
  request.kind = words.kind;
  auto variants = variants_of(context, words);
  if (!variants) return tl::unexpected(variants.error());
  request.variants = std::move(*variants);
  request.workload = text_or(values, "workload", "");
  request.parameters = words.parameters;
  for (const std::string& setting : texts(values, "set")) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return fail(ExitCode::bad_input, fmt::format("--set {} has no '='", setting),
                  "write --set NAME=YAML");
    }
    request.settings.emplace_back(std::string(trim(setting.substr(0, equals))),
                                  std::string(trim(setting.substr(equals + 1))));
  }
  request.runs = values["runs"].as<int>();
  constexpr int most_runs = 100;
  if (request.runs < 1 || request.runs > most_runs) {
    return fail(ExitCode::bad_input, fmt::format("--runs is {}", request.runs),
                fmt::format("1 to {}", most_runs));
  }
  return request;
}

// Writes a file that was asked for, and says where another was there.
Result<void> write_told(const std::string& file, const std::string& text) {
  std::error_code ignored;
  const bool before = std::filesystem::exists(file, ignored);
  if (auto written = write_file(file, text); !written) {
    written.error().exit_code = ExitCode::results_unreadable;
    return written;
  }
  print_error("wrote {}{}\n", file, before ? " (in place of an earlier file)" : "");
  return {};
}

Result<void> write_exports(const po::variables_map& values, const BenchResult& result) {
  const std::pair<const char*, std::string> exports[] = {
      {"export-json",
       bench_json(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"},
      {"export-csv", bench_csv(result)},
      {"export-markdown", bench_markdown(result)}};
  for (const auto& [option, text] : exports) {
    if (values.count(option) == 0) continue;
    if (auto written = write_told(text_or(values, option, ""), text); !written) return written;
  }
  return {};
}

std::vector<std::string> all_files(const BenchWords& words, const po::variables_map& values) {
  std::vector<std::string> files = texts(values, "plugin");
  std::ranges::copy_if(words.subjects, std::back_inserter(files), is_source);
  return files;
}

class Bench {
 public:
  Bench(const Context& context, const po::variables_map& values, BenchWords words)
      : context_(context), values_(values), words_(std::move(words)) {}

  Result<ExitCode> run() {
    const auto request = request_of(context_, words_, values_);
    if (!request) return tl::unexpected(request.error());
    const auto yaml = bench_experiment(context_.catalogue, context_.environment(), *request);
    if (!yaml) return tl::unexpected(yaml.error());
    const auto planned = plan_text(context_, *yaml, fmt::format("bench_{}.yaml", request->kind),
                                   context_.environment(), {});
    if (!planned) return tl::unexpected(planned.error());
    auto database = open_database(values_, store::Access::read_write);
    if (!database) return tl::unexpected(database.error());
    std::optional<store::Run> baseline;
    if (values_.count("baseline") > 0) {
      const auto name = store::baseline_run(*database, text_or(values_, "baseline", ""));
      if (!name) return tl::unexpected(name.error());
      auto run = database->load_run(*name);
      if (!run) return tl::unexpected(run.error());
      baseline = std::move(*run);
    }
    if (values_.count("write") > 0) {
      if (auto written = write_told(text_or(values_, "write", ""), *yaml); !written) {
        return tl::unexpected(written.error());
      }
    }
    const auto end = measure(*planned, *database);
    if (!end) return tl::unexpected(end.error());
    const auto run = database->load_run(end->run);
    if (!run) return tl::unexpected(run.error());
    BenchResult result = bench_result(*run, request->kind);
    if (baseline) add_changes(*baseline, text_or(values_, "baseline", ""), result);
    return conclude(*yaml, *end, result);
  }

 private:
  Result<run::RunEnd> measure(const Planned& planned, store::Database& database) {
    std::vector<std::string> plugins;
    for (const std::string& file : all_files(words_, values_)) {
      std::error_code ignored;
      plugins.push_back(std::filesystem::absolute(file, ignored).lexically_normal().string());
    }
    run::RunRequest request{context_.installation,
                            context_.catalogue,
                            planned.experiment,
                            planned.plan,
                            results_folder(values_),
                            {},
                            {},
                            values_["allow-external"].as<bool>(),
                            {},
                            plugins,
                            [&](const auto& needs, const auto& stop) {
                              return run::build_compiled(context_.installation, needs, stop);
                            }};
    request.name = text_or(values_, "name", "");
    request.baseline = text_or(values_, "save-baseline", "");
    Progress progress = Progress::of_stderr();
    auto end = run::run_experiment(request, database, progress);
    if (end) report_ = render_report(context_, &database, results_folder(values_), {{end->run}});
    progress.close();
    return end;
  }

  Result<ExitCode> conclude(const std::string& yaml, const run::RunEnd& end,
                            const BenchResult& result) {
    print_out("{}\nThe same as an experiment{}:\n\n{}\nrun: {}\n", bench_text(result),
              values_.count("write") > 0 ? "" : " (`--write FILE` keeps it)", yaml, end.run);
    if (report_) print_out("report: {}\n", report_->file.string());
    if (end.interrupted) {
      std::vector<std::string> words = {called_as(), "run", "--resume", end.run};
      for (const std::string& file : all_files(words_, values_)) {
        words.insert(words.end(), {"--plugin", file});
      }
      print_out("interrupted; `{}` measures the rest\n", shell_command(words));
    }
    if (auto written = write_exports(values_, result); !written) {
      return tl::unexpected(written.error());
    }
    if (!report_) {
      print_error("{}\n", report_.error().text());
      return report_.error().exit_code;
    }
    const bool fine = std::ranges::all_of(end.outcomes, [](const auto& counted) {
      return counted.first == Outcome::ok || counted.first == Outcome::skipped ||
             counted.first == Outcome::unsupported;
    });
    return fine && !end.interrupted ? ExitCode::ok : ExitCode::some_case_not_ok;
  }

  const Context& context_;
  const po::variables_map& values_;
  BenchWords words_;
  Result<Rendered> report_;
};

}  // namespace

Result<ExitCode> bench_command(const Arguments& arguments) {
  const Usage usage = bench_usage();
  auto words = read_bench_words(usage, arguments);
  if (!words) return tl::unexpected(words.error());
  const auto values = parse(usage, words->options);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  if (words->kind.empty()) {
    return fail(ExitCode::bad_input, "no kind is named",
                "for example `assay bench attention naive flash_libtorch --seq-len 1024`");
  }
  if (auto named = check_baseline_name(text_or(**values, "save-baseline", "main")); !named) {
    return tl::unexpected(named.error());
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const auto context = open_context(all_files(*words, **values));
  if (!context) return tl::unexpected(context.error());
  return Bench(*context, **values, std::move(*words)).run();
}

}  // namespace assay::cli
