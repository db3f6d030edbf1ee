#include <fmt/format.h>

#include "base/output.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "config/suite.h"
#include "report/read/schema.h"

namespace assay::cli {

namespace {

Usage schema_usage() {
  Usage usage{"schema",
              "",
              "Prints the JSON Schema of experiments and suites with the plugins of this "
              "installation, for\ncompletion and checks in an editor.",
              "assay schema --output configs/experiment.schema.json",
              po::options_description("Options"),
              {}};
  usage.options.add_options()("output", po::value<std::string>()->value_name("FILE"),
                              "where to write (default: standard output)");
  add_plugin_option(usage.options);
  return usage;
}

}  // namespace

Result<ExitCode> schema_command(const Arguments& arguments) {
  const auto values = parse(schema_usage(), arguments);
  if (!values) return tl::unexpected(values.error());
  if (!*values) return ExitCode::ok;
  const auto context = open_context(texts(**values, "plugin"));
  if (!context) return tl::unexpected(context.error());
  const std::string text = config::file_schema(config::experiment_schema(context->environment(),
                                                                         report::report_schema()))
                               .dump(2) +
                           "\n";
  const std::string output = text_or(**values, "output", "");
  if (output.empty()) {
    print_out("{}", text);
  } else if (const auto written = write_file(output, text); !written) {
    return tl::unexpected(written.error());
  }
  return ExitCode::ok;
}

}  // namespace assay::cli
