#include "cli/run_invocation.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/case_choice.h"
#include "cli/resume.h"
#include "cli/stored_run.h"
#include "store/records/identity.h"

namespace assay::cli {

namespace {

std::vector<std::string> as_words(const config::Override& given) {
  std::vector<std::string> words;
  for (const std::string& setting : given.settings) words.insert(words.end(), {"--set", setting});
  for (const std::string& filter : given.filters) words.insert(words.end(), {"--filter", filter});
  return words;
}

std::vector<std::string> for_the_record(const config::Override& given) {
  std::vector<std::string> record;
  for (const std::string& setting : given.settings) record.push_back("--set " + setting);
  for (const std::string& filter : given.filters) record.push_back("--filter " + filter);
  return record;
}

void append(const config::Override& more, config::Override& override) {
  override.settings.insert(override.settings.end(), more.settings.begin(), more.settings.end());
  override.filters.insert(override.filters.end(), more.filters.begin(), more.filters.end());
}

RunInvocation invocation_of_suite(PlannedSuite planned, const SuiteRequest& request) {
  RunInvocation invocation;
  invocation.experiment = planned.whole;
  invocation.overrides = for_the_record(request.given);
  invocation.words = as_words(request.given);
  for (const std::string& chapter : request.only) {
    invocation.overrides.push_back("--only " + chapter);
    invocation.words.insert(invocation.words.end(), {"--only", chapter});
  }
  invocation.suite = std::make_shared<const PlannedSuite>(std::move(planned));
  return invocation;
}

Result<void> refuse_only(const po::variables_map& values, const std::string& what) {
  if (values.count("only") == 0) return {};
  return fail(ExitCode::bad_input, fmt::format("--only chooses chapters, and {} is no suite", what),
              "--filter chooses cases of an experiment");
}

Result<RunInvocation> invocation_of_stored_suite(const Context& context,
                                                 const po::variables_map& values,
                                                 const StoredRun& stored,
                                                 const store::SuiteRecord& record) {
  SuiteRequest request{stored_overrides(stored.session, true), texts(values, "only")};
  append(overrides(values), request.given);
  auto planned = plan_stored_suite(context, stored.session, record, request);
  if (!planned) return tl::unexpected(planned.error());
  RunInvocation invocation = invocation_of_suite(std::move(*planned), request);
  invocation.of = stored.run.info.name;
  const std::vector<std::string> more = as_words(overrides(values));
  invocation.words = {"--experiment-of", stored.run.info.name};
  invocation.words.insert(invocation.words.end(), more.begin(), more.end());
  for (const std::string& chapter : request.only) {
    invocation.words.insert(invocation.words.end(), {"--only", chapter});
  }
  return invocation;
}

}  // namespace

Result<RunInvocation> invocation_of_file(const Context& context, const po::variables_map& values,
                                         const std::string& file) {
  const auto path = experiment_file(context, file);
  if (!path) return tl::unexpected(path.error());
  const auto text = read_file(*path, yaml::Limits{}.bytes);
  if (!text) return tl::unexpected(text.error());
  const auto taken_up = run_taken_up(values, *text);
  if (!taken_up) return tl::unexpected(taken_up.error());
  const config::Override given =
      *taken_up ? with_own((*taken_up)->run.info, overrides(values)) : overrides(values);
  if (config::is_suite(*text)) {
    const SuiteRequest request{given, texts(values, "only")};
    auto planned = plan_suite_file(context, *path, *text, request);
    if (!planned) return tl::unexpected(planned.error());
    RunInvocation invocation = invocation_of_suite(std::move(*planned), request);
    invocation.words.insert(invocation.words.begin(), file);
    return invocation;
  }
  if (auto refused = refuse_only(values, file); !refused) return tl::unexpected(refused.error());
  auto planned = plan_text(context, *text, *path, context.environment(), given);
  if (!planned) return tl::unexpected(planned.error());
  if (*taken_up) {
    const auto same = check_unchanged(context, **taken_up, *planned);
    if (!same) return tl::unexpected(same.error());
  }
  RunInvocation invocation{
      std::move(planned->experiment), std::move(planned->plan), for_the_record(given), {}, {file}};
  const std::vector<std::string> words = as_words(given);
  invocation.words.insert(invocation.words.end(), words.begin(), words.end());
  return invocation;
}

Result<RunInvocation> invocation_of_run(const Context& context, const po::variables_map& values) {
  auto database = open_database(values, store::Access::read_only);
  if (!database) return tl::unexpected(database.error());
  const auto stored =
      stored_run(*database, text_or(values, "experiment-of", text_or(values, "resume", "latest")),
                 text_or(values, "case", ""));
  if (!stored) return tl::unexpected(stored.error());
  const store::Session& from = stored->session;
  if (const auto suite = store::suite_of(from)) {
    return invocation_of_stored_suite(context, values, *stored, *suite);
  }
  if (auto refused = refuse_only(values, stored->run.info.name); !refused) {
    return tl::unexpected(refused.error());
  }
  const config::Override given = overrides(values);
  config::Override override = stored_overrides(from, stored->cases.empty());
  override.of_chapter = stored->changes;
  append(given, override);
  auto planned = plan_stored(context, from, stored->cases, override);
  if (!planned) return tl::unexpected(planned.error());
  if (is_taken_up(values)) {
    const auto same = check_unchanged(context, *stored, *planned);
    if (!same) return tl::unexpected(same.error());
  }
  const std::string& name = stored->run.info.name;
  std::vector<std::string> record = for_the_record(override);
  std::vector<std::string> words{"--experiment-of", name};
  if (!stored->cases.empty()) {
    const std::string choice = text_or(values, "case", "");
    if (!choice.empty()) words.insert(words.end(), {"--case", choice});
    record.push_back("--case " + (stored->cases.size() == 1
                                      ? short_key(stored->run, *stored->cases[0])
                                      : choice));
  }
  const std::vector<std::string> more = as_words(given);
  words.insert(words.end(), more.begin(), more.end());
  return RunInvocation{std::move(planned->experiment), std::move(planned->plan), std::move(record),
                       name, std::move(words)};
}

}  // namespace assay::cli
