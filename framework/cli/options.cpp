#include "cli/options.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "base/output.h"
#include "base/text.h"

namespace assay::cli {

namespace {

std::vector<std::string> option_names(const Usage& usage) {
  std::vector<std::string> names;
  for (const auto& option : usage.options.options()) names.push_back("--" + option->long_name());
  return names;
}

tl::unexpected<Error> refuse(const Usage& usage, std::string message) {
  return fail(ExitCode::bad_input, std::move(message),
              fmt::format("`assay {} --help` shows the options", usage.command));
}

}  // namespace

std::string Usage::text() const {
  std::ostringstream stream;
  stream << options;
  return fmt::format("assay {}{}{}\n\n{}\n\n{}\nExample:\n  {}\n", command,
                     positional.empty() ? "" : " ", positional, summary, stream.str(), example);
}

Result<std::optional<po::variables_map>> parse(const Usage& usage, const Arguments& arguments) {
  po::options_description all;
  all.add(usage.options);
  all.add_options()("help,h", "");
  po::variables_map values;
  try {
    po::store(
        po::command_line_parser(arguments)
            .options(all)
            .positional(usage.positions)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .run(),
        values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    return refuse(
        usage, fmt::format("unknown option '{}'{}", name, suggestion(name, option_names(usage))));
  } catch (const po::too_many_positional_options_error&) {
    return refuse(usage, fmt::format("too many arguments for `assay {}`", usage.command));
  } catch (const po::error& error) {
    return refuse(usage, error.what());
  }
  if (values.count("help") > 0) {
    print_out("{}", usage.text());
    return std::optional<po::variables_map>();
  }
  return std::optional(std::move(values));
}

std::string text_or(const po::variables_map& values, const std::string& name,
                    const std::string& otherwise) {
  return values.count(name) > 0 ? values[name].as<std::string>() : otherwise;
}

std::vector<std::string> texts(const po::variables_map& values, const std::string& name) {
  return values.count(name) > 0 ? values[name].as<std::vector<std::string>>()
                                : std::vector<std::string>();
}

}  // namespace assay::cli
