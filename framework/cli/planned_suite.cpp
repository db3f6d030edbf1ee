#include "cli/planned_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "config/matrix.h"
#include "config/read/diagnostics.h"
#include "expression/expression.h"
#include "run/cases/machine.h"
#include "yaml/values.h"
#include "yaml/writer.h"

namespace assay::cli {

namespace {

constexpr const char* any_device = "auto";

std::string usual_device(const Context& context) {
  const bool cuda = context.catalogue.uses_cuda() && !run::probe_machine().gpus.empty();
  return cuda ? "cuda" : "cpu";
}

// The value of `device` among settings; the last counts. "": none has one.
std::string device_in(const std::vector<std::string>& settings) {
  std::string device;
  for (const std::string& setting : settings) {
    if (config::name_of_setting(setting) != "device") continue;
    device = trim(std::string_view(setting).substr(setting.find('=') + 1));
  }
  return device;
}

std::string device_in(const config::Chapter& chapter) {
  for (const auto& [name, value] : chapter.changes.settings) {
    if (name.text == "device" && value.is_scalar()) return value.text;
  }
  const yaml::Node* fixed = chapter.experiment.root.find("fixed");
  const yaml::Node* device = fixed == nullptr ? nullptr : fixed->find("device");
  return device != nullptr && device->is_scalar() ? device->text : std::string();
}

bool is_settled(const std::string& device) { return !device.empty() && device != any_device; }

using EnvironmentOf = std::function<config::Environment(const config::Chapter&)>;

class SuitePlanner {
 public:
  SuitePlanner(const Context& context, const SuiteRequest& request, EnvironmentOf environment)
      : context_(context),
        request_(request),
        environment_of_(std::move(environment)),
        usual_device_(usual_device(context)) {}

  Result<PlannedSuite> plan(config::Suite suite) {
    PlannedSuite planned;
    planned.suite = std::move(suite);
    if (auto known = check_only(request_.only, planned.suite.names()); !known) {
      return tl::unexpected(known.error());
    }
    choose_overrides(planned.suite);
    config::Diagnostics all(planned.suite.file);
    for (std::size_t i = 0; i < planned.suite.chapters.size(); ++i) {
      if (auto added = add(planned.suite.chapters[i], i, planned); !added) all.add(added.error());
    }
    if (!all.empty()) return tl::unexpected(all.take());
    if (planned.chapter_plans().empty()) return nothing_left(planned.record);
    describe(planned);
    return planned;
  }

 private:
  // Settings and filters of the command line by chapter. One that no chapter knows goes to the
  // first, which complains.
  void choose_overrides(const config::Suite& suite) {
    overrides_.assign(suite.chapters.size(), {});
    for (const std::string& setting : request_.given.settings) {
      const std::string name = config::name_of_setting(setting);
      distribute(
          suite, [&](const config::Chapter& chapter) { return knows(chapter, name); },
          [&](config::Override& override) { override.settings.push_back(setting); });
    }
    for (const std::string& filter : request_.given.filters) {
      distribute(
          suite, [&](const config::Chapter& chapter) { return knows_all(chapter, filter); },
          [&](config::Override& override) { override.filters.push_back(filter); });
    }
  }

  template <class Takes, class Add>
  void distribute(const config::Suite& suite, const Takes& takes, const Add& add) {
    config::Override* first = nullptr;
    bool taken = false;
    for (std::size_t i = 0; i < suite.chapters.size(); ++i) {
      if (suite.chapters[i].is_text()) continue;
      if (first == nullptr) first = &overrides_[i];
      if (!takes(suite.chapters[i])) continue;
      add(overrides_[i]);
      taken = true;
    }
    if (!taken && first != nullptr) add(*first);
  }

  bool knows(const config::Chapter& chapter, const std::string& name) const {
    const yaml::Node* workload = chapter.experiment.root.find("workload");
    return workload != nullptr && config::has_name(context_.environment(), workload->text, name);
  }

  bool knows_all(const config::Chapter& chapter, const std::string& filter) const {
    const auto expression = Expression::compile(filter);
    return expression && std::ranges::all_of(expression->uses(), [&](const Expression::Use& use) {
             return knows(chapter, use.name) || (!use.beside.empty() && knows(chapter, use.beside));
           });
  }

  Result<void> add(const config::Chapter& chapter, std::size_t number, PlannedSuite& planned) {
    planned.chapters.push_back({chapter.name, {}, is_chosen(chapter), chapter.changes.needs.text});
    store::ChapterRecord record;
    record.name = chapter.name;
    record.text = chapter.text;
    if (chapter.is_text()) {
      planned.record.chapters.push_back(std::move(record));
      return {};
    }
    const std::string device = device_of(chapter);
    config::Override override = overrides_[number];
    override.of_chapter = chapter.changes_on(device);
    record.left = chapter.leave_on(device);
    auto experiment = plan_chapter(chapter, override, record.left);
    if (!experiment) return tl::unexpected(experiment.error());
    record.named = chapter.named;
    record.file = chapter.file;
    record.experiment_text = chapter.experiment_text;
    record.experiment = experiment->experiment.name;
    record.title = experiment->experiment.title;
    const yaml::Node& report = chapter.changes.report;
    if (!report.is_null()) record.report = yaml::to_flow(report);
    record.overrides = for_the_record(override);
    record.presets = experiment->experiment.presets;
    record.left_out = config::values_left_out(experiment->experiment);
    if (record.left.empty()) planned.chapters.back().planned = std::move(*experiment);
    planned.record.chapters.push_back(std::move(record));
    return {};
  }

  bool is_chosen(const config::Chapter& chapter) const {
    return request_.only.empty() || std::ranges::count(request_.only, chapter.name) > 0;
  }

  std::string device_of(const config::Chapter& chapter) const {
    for (const std::string& device : {device_in(request_.given.settings), device_in(chapter)}) {
      if (is_settled(device)) return device;
    }
    return usual_device_;
  }

  // Where the filters of the command line keep no case, the chapter without them and why in `left`.
  Result<Planned> plan_chapter(const config::Chapter& chapter, const config::Override& override,
                               std::string& left) const {
    const auto plan = [&](const config::Override& given) {
      return plan_document(context_, chapter.experiment, chapter.experiment_text, chapter.file,
                           environment_of_(chapter), given);
    };
    auto planned = plan(override);
    if (planned || override.filters.empty()) return planned;
    if (!config::read_document(chapter.experiment, chapter.experiment_text, chapter.file,
                               environment_of_(chapter), override)
             .experiment) {
      return planned;
    }
    config::Override unfiltered = override;
    unfiltered.filters.clear();
    auto whole = plan(unfiltered);
    if (!whole) return planned;
    if (left.empty()) left = planned.error().diagnostics.front().message;
    return whole;
  }

  static std::vector<std::string> for_the_record(const config::Override& override) {
    std::vector<std::string> record;
    for (const auto& [name, value] : override.of_chapter.settings) {
      record.push_back("--set " + name.text + "=" + yaml::to_flow(value));
    }
    for (const std::string& setting : override.settings) record.push_back("--set " + setting);
    for (const yaml::Node& filter : override.of_chapter.filters) {
      record.push_back("--filter " + filter.text);
    }
    for (const std::string& filter : override.filters) record.push_back("--filter " + filter);
    return record;
  }

  static tl::unexpected<Error> nothing_left(const store::SuiteRecord& record) {
    Error error{ExitCode::bad_input, {{{}, "no chapter of the suite is left to run", {}}}};
    for (const store::ChapterRecord& chapter : record.chapters) {
      if (!chapter.name.empty()) {
        error.diagnostics.push_back({{}, chapter.name + ": " + chapter.left, {}});
      }
    }
    return tl::unexpected(std::move(error));
  }

  static void describe(PlannedSuite& planned) {
    const config::Suite& suite = planned.suite;
    planned.record.name = suite.name;
    planned.record.title = suite.title;
    planned.record.text = suite.text;
    planned.whole.name = suite.name;
    planned.whole.title = suite.title;
    planned.whole.file = suite.file;
    planned.whole.text = suite.written;
    for (const PlannedChapter& chapter : planned.chapters) {
      if (!chapter.planned) continue;
      const auto& presets = chapter.planned->experiment.presets;
      planned.whole.presets.insert(presets.begin(), presets.end());
    }
  }

  const Context& context_;
  const SuiteRequest& request_;
  EnvironmentOf environment_of_;
  std::string usual_device_;
  std::vector<config::Override> overrides_;  // of the command line, by chapter
};

// A bare name is a file beside the suite or a shipped experiment; any other is relative to the
// suite's folder.
config::OpenFile opener(const Context& context, const std::string& suite_file) {
  return [&context, folder = std::filesystem::path(suite_file).parent_path()](
             const std::string& named) -> Result<config::OpenedFile> {
    std::error_code ignored;
    const bool bare = named.find_first_of("/.") == std::string::npos;
    const std::filesystem::path beside = folder / (bare ? named + ".yaml" : named);
    std::string path = beside.lexically_normal().string();
    if (!std::filesystem::is_regular_file(path, ignored)) {
      if (!bare) {
        return fail(ExitCode::bad_input, fmt::format("the file '{}' does not exist", path),
                    "a path is relative to the suite's folder");
      }
      const auto shipped = experiment_file(context, named);
      if (!shipped) return tl::unexpected(shipped.error());
      path = *shipped;
    }
    auto text = read_file(path, yaml::Limits{}.bytes);
    if (!text) return tl::unexpected(text.error());
    return config::OpenedFile{std::move(path), std::move(*text)};
  };
}

config::OpenFile stored_opener(const store::SuiteRecord& record) {
  return [&record](const std::string& named) -> Result<config::OpenedFile> {
    for (const store::ChapterRecord& chapter : record.chapters) {
      if (chapter.named == named) {
        return config::OpenedFile{chapter.file, chapter.experiment_text};
      }
    }
    return fail(ExitCode::bad_input, fmt::format("the run was stored without '{}'", named));
  };
}

}  // namespace

std::vector<run::ChapterPlan> PlannedSuite::chapter_plans() const {
  std::vector<run::ChapterPlan> plans;
  for (const PlannedChapter& chapter : chapters) {
    if (!chapter.planned) continue;
    plans.push_back({chapter.name, chapter.planned->experiment, chapter.planned->plan,
                     chapter.chosen, chapter.needs});
  }
  return plans;
}

Result<void> check_only(const std::vector<std::string>& only,
                        const std::vector<std::string>& chapters) {
  for (const std::string& name : only) {
    if (std::ranges::count(chapters, name) > 0) continue;
    return fail(ExitCode::bad_input, fmt::format("--only: the suite has no chapter '{}'{}", name,
                                                 suggestion(name, chapters)));
  }
  return {};
}

Result<PlannedSuite> plan_suite_file(const Context& context, const std::string& file,
                                     std::string_view text, const SuiteRequest& request) {
  auto suite = config::read_suite(text, file, opener(context, file));
  if (!suite) return tl::unexpected(suite.error());
  return SuitePlanner(context, request,
                      [&](const config::Chapter&) { return context.environment(); })
      .plan(std::move(*suite));
}

Result<PlannedSuite> plan_stored_suite(const Context& context, const store::Session& session,
                                       const store::SuiteRecord& record,
                                       const SuiteRequest& request) {
  auto suite =
      config::read_suite(session.experiment_text, session.experiment_file, stored_opener(record));
  if (!suite) return tl::unexpected(suite.error());
  const auto environment = [&](const config::Chapter& chapter) {
    config::Environment with_presets = context.environment();
    const store::ChapterRecord* stored = record.find(chapter.name);
    if (stored == nullptr || !stored->presets.is_object()) return with_presets;
    for (const auto& [name, config] : stored->presets.items()) with_presets.presets[name] = config;
    return with_presets;
  };
  return SuitePlanner(context, request, environment).plan(std::move(*suite));
}

}  // namespace assay::cli
