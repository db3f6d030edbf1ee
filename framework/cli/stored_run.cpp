#include "cli/stored_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/case_choice.h"
#include "run/schedule/selection.h"
#include "store/records/identity.h"

namespace assay::cli {

namespace {

// Leaves the run of the first chapter that has all the chosen cases.
Result<void> narrow_to_chapter(const store::SuiteRecord& suite, StoredRun& stored) {
  std::vector<std::string> keys;
  for (const store::CaseResult* result : stored.cases) keys.push_back(result->key);
  for (const store::ChapterRecord& chapter : suite.chapters) {
    store::Run own = store::chapter_run(stored.run, chapter);
    std::vector<const store::CaseResult*> cases;
    for (const std::string& key : keys) {
      const auto found = std::ranges::find_if(
          own.cases, [&](const store::CaseResult& result) { return result.key == key; });
      if (found != own.cases.end()) cases.push_back(&*found);
    }
    if (cases.size() < keys.size()) continue;
    stored.run = std::move(own);  // the cases stay where they are
    stored.cases = std::move(cases);
    stored.changes.title = chapter.title;
    if (chapter.report.empty()) return {};
    auto report = yaml::parse(chapter.report, chapter.file);
    if (!report) return tl::unexpected(report.error());
    stored.changes.report = std::move(*report);
    return {};
  }
  return fail(ExitCode::bad_input, "the cases are of several chapters",
              "name cases of one chapter, or the suite's file with --only and --filter");
}

}  // namespace

Result<StoredRun> stored_run(store::Database& database, const std::string& named,
                             std::string choice) {
  const auto name = run_name(database, named);
  if (!name) return tl::unexpected(name.error());
  auto run = database.load_run(*name);
  if (!run) return tl::unexpected(run.error());
  StoredRun stored{std::move(*run), {}, {}};
  if (choice.empty()) {
    for (const std::string& override : stored.run.info.first.overrides) {
      choice = override_value(override, "--case ").value_or(choice);
    }
  }
  if (!choice.empty()) {
    auto cases = choose_cases(stored.run, choice);
    if (!cases) return tl::unexpected(cases.error());
    stored.cases = std::move(*cases);
    if (const auto suite = store::suite_of(stored.run.info)) {
      auto narrowed = narrow_to_chapter(*suite, stored);
      if (!narrowed) return tl::unexpected(narrowed.error());
    }
  }
  stored.session =
      store::session_of(stored.run.info, stored.cases.empty() ? 0 : stored.cases[0]->session);
  for (const store::Session& session : stored.run.info.sessions) {
    if (!stored.cases.empty() || !store::suite_of(session)) continue;
    // A suite may have grown; what narrowed a later session does not narrow the run.
    stored.session = session;
    stored.session.overrides = stored.run.info.first.overrides;
  }
  if (stored.session.experiment_text.empty()) {
    return fail(ExitCode::bad_input,
                fmt::format("{} was stored without the text of its experiment", *name),
                "name the experiment's file instead of --experiment-of");
  }
  return stored;
}

std::optional<std::string> override_value(const std::string& override, std::string_view option) {
  if (!override.starts_with(option)) return std::nullopt;
  return override.substr(option.size());
}

config::Override stored_overrides(const store::Session& session, bool with_filters) {
  config::Override override;
  for (const std::string& text : session.overrides) {
    if (auto setting = override_value(text, "--set ")) override.settings.push_back(*setting);
    if (auto filter = override_value(text, "--filter "); filter && with_filters) {
      override.filters.push_back(*filter);
    }
  }
  return override;
}

config::Environment environment_of(const Context& context, const store::Session& stored) {
  config::Environment environment = context.environment();
  if (!stored.provenance.is_object() || !stored.provenance.contains("presets")) return environment;
  const nlohmann::json& presets = stored.provenance["presets"];
  if (!presets.is_object()) return environment;
  for (const auto& [name, config] : presets.items()) environment.presets[name] = config;
  return environment;
}

Result<Planned> plan_stored(const Context& context, const store::Session& session,
                            const std::vector<const store::CaseResult*>& cases,
                            const config::Override& override) {
  auto planned = plan_text(context, session.experiment_text, session.experiment_file,
                           environment_of(context, session), override);
  if (!planned || cases.empty()) return planned;
  auto narrowed = run::narrow_plan(planned->plan, cases);
  if (!narrowed) return tl::unexpected(narrowed.error());
  planned->plan = std::move(*narrowed);
  if (const auto checked = check_report(context, *planned, override); !checked) {
    return tl::unexpected(checked.error());
  }
  return planned;
}

}  // namespace assay::cli
