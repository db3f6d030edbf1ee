#include "run/schedule/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "config/vocabulary.h"
#include "expression/expression.h"
#include "run/external/permission.h"
#include "run/schedule/selection.h"
#include "store/records/identity.h"

namespace assay::run {

namespace {

constexpr std::size_t no_item = static_cast<std::size_t>(-1);
constexpr std::size_t most_reasons = 3;

// What decides how a case is measured and is not among its parameters.
std::string sources_of(const ResolvedCase& resolved) {
  nlohmann::json sources = nlohmann::json::object();
  for (const auto& [name, fields] : resolved.request.presets) {
    for (const auto& [field, value] : fields) {
      sources[name][field] = assay::to_json(value);
    };
  }
  // A compile variant may replace the operations that the experiment does not name.
  const std::string compile = store::text_of(resolved.request.parameters, "compile");
  if (!compile.empty() && compile != config::default_variant("compile")) {
    for (const std::string_view kind : catalogue::kinds) {
      if (resolved.request.pinned.contains(std::string(kind))) sources["pinned"].push_back(kind);
    }
  }
  return dump(sources);
}

bool is_needed(const Expression& needs, const store::Parameters& parameters) {
  const auto holds =
      needs.evaluate([&](const std::string& name) { return store::value_of(parameters, name); });
  return holds && *holds == Value(true);
}

std::string in_words(const std::set<std::string>& reasons) {
  std::vector<std::string> some(reasons.begin(), reasons.end());
  if (some.size() > most_reasons) {
    some.resize(most_reasons);
    some.push_back(fmt::format("and {} more", reasons.size() - most_reasons));
  }
  return join(some, "; ");
}

}  // namespace

Work::Work(const catalogue::Catalogue& catalogue, const Machine& machine, bool allow_external,
           const config::Experiment& experiment, const config::Plan& plan)
    : allow_external_(allow_external) {
  parts_.push_back(std::make_unique<Part>(catalogue, machine, allow_external,
                                          ChapterPlan{"", experiment, plan}));
  places_.reserve(plan.size());
  for (std::size_t index = 0; index < plan.size(); ++index) places_.push_back({0, index});
}

Work::Work(const catalogue::Catalogue& catalogue, const Machine& machine, bool allow_external,
           const std::vector<ChapterPlan>& chapters)
    : allow_external_(allow_external), suite_(true), cannot_(chapters.size()) {
  std::vector<AskedCase> asked;
  std::vector<AskingChapter> asking;
  for (std::size_t i = 0; i < chapters.size(); ++i) {
    parts_.push_back(std::make_unique<Part>(catalogue, machine, allow_external, chapters[i]));
    asking.push_back({chapters[i].name, chapters[i].experiment.passes});
    ask(i, asked);
  }
  sharing_ = share_cases(asked, asking);
  place_cases(asked);
  find_settings(asked);
  for (const SharedCase& shared : sharing_.cases) {
    chosen_.push_back(std::ranges::any_of(shared.chapters, [&](std::size_t chapter) {
      return chapters[chapter].chosen && !cannot_[chapter];
    }));
  }
}

void Work::ask(std::size_t number, std::vector<AskedCase>& asked) {
  Part& part = *parts_[number];
  part.first = asked.size();
  const auto needs = Expression::compile(part.needs.empty() ? "true" : part.needs);
  std::set<std::string> reasons;
  bool can = false;
  for (std::size_t index = 0; index < part.plan.size(); ++index) {
    ResolvedCase resolved = resolve_planned(part, index);
    if (is_needed(*needs, resolved.request.parameters)) {
      can = can || !resolved.skipped;
      if (resolved.skipped) reasons.insert(*resolved.skipped);
    }
    std::string sources = sources_of(resolved);
    asked.push_back({number,
                     index,
                     std::move(resolved.request.parameters),
                     std::move(sources),
                     {},
                     resolved.skipped.has_value()});
  }
  for (const InterleaveGroup& group : part.interleave.groups().all()) {
    std::vector<std::size_t> places;
    for (const std::size_t index : group.cases) places.push_back(part.first + index);
    for (const std::size_t place : places) asked[place].group = places;
  }
  if (!can && !reasons.empty()) cannot_[number] = in_words(reasons);
}

void Work::place_cases(const std::vector<AskedCase>& asked) {
  items_.resize(parts_.size());
  for (const auto& part : parts_) part->item_of.assign(part->plan.size(), no_item);
  for (std::size_t item = 0; item < sharing_.cases.size(); ++item) {
    const AskedCase& first = asked[sharing_.cases[item].first];
    places_.push_back({first.chapter, first.index});
    parts_[first.chapter]->item_of[first.index] = item;
  }
  std::set<std::pair<std::size_t, std::size_t>> seen;  // two cases of a plan may be one here
  for (std::size_t place = 0; place < asked.size(); ++place) {
    const std::size_t chapter = asked[place].chapter, item = sharing_.of[place];
    if (seen.emplace(chapter, item).second) items_[chapter].push_back(item);
  }
}

void Work::find_settings(const std::vector<AskedCase>& asked) {
  settings_.resize(parts_.size());
  for (std::size_t place = 0; place < asked.size(); ++place) {
    const store::Parameters& shared = sharing_.cases[sharing_.of[place]].parameters;
    for (const std::string& name : joined_settings()) {
      const Value own = store::value_of(asked[place].parameters, name);
      if (own != store::value_of(shared, name)) settings_[asked[place].chapter][name] = own;
    }
  }
}

bool Work::may_repeat() const { return !suite_ && run::may_repeat(parts_.front()->plan); }

ResolvedCase Work::resolve_planned(const Part& part, std::size_t index) const {
  ResolvedCase resolved =
      resolve(part.around, static_cast<std::int64_t>(index), part.plan.parameters(index));
  require_permission(resolved, allow_external_);
  return resolved;
}

ResolvedCase Work::resolved(std::size_t item) const {
  const Part& part = part_of(item);
  if (!suite_) return resolve_planned(part, places_[item].index);
  const SharedCase& shared = sharing_.cases[item];
  ResolvedCase resolved = resolve(part.around, static_cast<std::int64_t>(item), shared.parameters);
  require_permission(resolved, allow_external_);
  resolved.request.passes = shared.passes;
  return resolved;
}

std::vector<CompiledNeed> Work::compiled_needs() const {
  std::vector<CompiledNeed> needs;
  std::set<std::pair<std::string, catalogue::CompiledValues>> known;
  for (const auto& part : parts_) {
    if (!part->chosen) continue;
    for (CompiledNeed& need : run::compiled_needs(part->around, part->plan)) {
      if (known.emplace(need.plugin->file, need.values).second) needs.push_back(std::move(need));
    }
  }
  return needs;
}

void Work::use(const CompiledLibraries& libraries) {
  for (const auto& part : parts_) part->around.compiled = &libraries;
}

std::string Work::describe(std::size_t item) const {
  const Part& part = part_of(item);
  const std::string description = part.plan.describe(places_[item].index);
  return suite_ ? part.name + ": " + description : description;
}

std::vector<std::size_t> Work::members_with(std::size_t item, const InterleavePlan::Left& left) {
  Part& part = *parts_[places_[item].part];
  if (!suite_) return part.interleave.members_with(item, left);
  const auto members = part.interleave.members_with(places_[item].index, [&](std::size_t index) {
    return part.item_of[index] != no_item && left(part.item_of[index]);
  });
  std::vector<std::size_t> items;
  for (const std::size_t index : members) items.push_back(part.item_of[index]);
  return items;
}

std::string Work::why_apart(std::size_t item) const {
  return part_of(item).interleave.why_apart(places_[item].index);
}

std::string Work::name_in_group(std::size_t item) const {
  return part_of(item).interleave.name_of(places_[item].index);
}

std::string Work::key(std::size_t item) const {
  store::CaseResult result;
  result.parameters = suite_ ? sharing_.cases[item].parameters : resolved(item).request.parameters;
  store::set_key(result);
  return result.key;
}

std::size_t Work::count_chosen() const {
  if (chosen_.empty()) return size();
  return static_cast<std::size_t>(std::count(chosen_.begin(), chosen_.end(), true));
}

store::SuiteRecord Work::described(store::SuiteRecord suite,
                                   const std::vector<ChapterPlan>& chapters) const {
  for (store::ChapterRecord& record : suite.chapters) {
    const auto found = std::ranges::find_if(
        chapters, [&](const ChapterPlan& chapter) { return chapter.name == record.name; });
    if (record.name.empty() || found == chapters.end()) continue;
    const auto number = static_cast<std::size_t>(found - chapters.begin());
    record.passes = found->experiment.passes;
    record.settings = settings_[number];
    for (const std::size_t item : items_[number]) record.cases.push_back(key(item));
    if (cannot_[number]) {
      record.left = *cannot_[number];
    } else if (!found->chosen) {
      record.left = "--only named other chapters";
    }
  }
  return suite;
}

const std::vector<std::size_t>& Work::chapters_of(std::size_t item) const {
  return sharing_.cases[item].chapters;
}

}  // namespace assay::run
