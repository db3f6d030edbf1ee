#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "run/cases/resolve.h"
#include "run/interleave/interleave_plan.h"
#include "run/schedule/sharing.h"
#include "store/records/suite.h"

namespace assay::run {

// An experiment, alone or a chapter of a suite.
struct ChapterPlan {
  std::string name;  // "" of an experiment alone
  const config::Experiment& experiment;
  const config::Plan& plan;
  bool chosen = true;  // --only leaves the others
  // An expression: where all cases for which it holds would be skipped, the chapter cannot be
  // measured. "": where all are.
  std::string needs = {};
};

// The cases that one run measures: those of a plan, or those of a suite's chapters, each once.
class Work {
 public:
  // The plan's cases in its order, equal ones too. The experiment and the plan outlive this.
  Work(const catalogue::Catalogue& catalogue, const Machine& machine, bool allow_external,
       const config::Experiment& experiment, const config::Plan& plan);
  // Of chapters: resolves every case.
  Work(const catalogue::Catalogue& catalogue, const Machine& machine, bool allow_external,
       const std::vector<ChapterPlan>& chapters);

  std::size_t size() const { return places_.size(); }
  bool of_suite() const { return suite_; }
  // "auto" beside another value may make two cases of a plan equal on this machine.
  bool may_repeat() const;
  // Whether a chapter that is chosen and can be measured here asks for the case.
  bool chosen(std::size_t item) const { return chosen_.empty() || chosen_[item]; }
  // As it is measured here: of a suite, with all that its chapters ask.
  ResolvedCase resolved(std::size_t item) const;
  // The libraries that cases of chosen chapters ask for, each once.
  std::vector<CompiledNeed> compiled_needs() const;
  // Cases resolved from now on use these libraries, which outlive this.
  void use(const CompiledLibraries& libraries);
  std::string describe(std::size_t item) const;
  std::string key(std::size_t item) const;
  std::size_t count_chosen() const;

  // As InterleavePlan has them, by item.
  std::vector<std::size_t> members_with(std::size_t item, const InterleavePlan::Left& left);
  std::string why_apart(std::size_t item) const;
  std::string name_in_group(std::size_t item) const;

  // Of a suite. The items of a chapter, in the order of its plan.
  const std::vector<std::size_t>& items_of(std::size_t chapter) const { return items_[chapter]; }
  std::size_t item_of(std::size_t chapter, std::size_t index) const {
    return sharing_.of[parts_[chapter]->first + index];
  }
  // The chapters that ask for an item, ascending.
  const std::vector<std::size_t>& chapters_of(std::size_t item) const;
  // Why this machine can measure no case of the chapter; nullopt where it can.
  const std::optional<std::string>& cannot(std::size_t chapter) const { return cannot_[chapter]; }
  // The record of the suite with each chapter's cases, passes and settings, and why it is left.
  store::SuiteRecord described(store::SuiteRecord suite,
                               const std::vector<ChapterPlan>& chapters) const;

 private:
  struct Part {
    Part(const catalogue::Catalogue& catalogue, const Machine& machine, bool allow_external,
         const ChapterPlan& chapter)
        : name(chapter.name),
          plan(chapter.plan),
          needs(chapter.needs),
          chosen(chapter.chosen),
          around{catalogue, chapter.experiment, machine, catalogue.uses_cuda()},
          interleave(around, chapter.plan, allow_external) {}

    std::string name;
    const config::Plan& plan;
    std::string needs;
    bool chosen;
    Surroundings around;
    InterleavePlan interleave;
    std::vector<std::size_t> item_of;  // by index in the plan; empty: the index itself
    std::size_t first = 0;             // of its cases among those asked for
  };
  struct Place {
    std::size_t part;
    std::size_t index;
  };

  ResolvedCase resolve_planned(const Part& part, std::size_t index) const;
  void ask(std::size_t number, std::vector<AskedCase>& asked);
  void place_cases(const std::vector<AskedCase>& asked);
  void find_settings(const std::vector<AskedCase>& asked);
  const Part& part_of(std::size_t item) const { return *parts_[places_[item].part]; }

  bool allow_external_;
  bool suite_ = false;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Place> places_;
  std::vector<bool> chosen_;
  Sharing sharing_;
  std::vector<std::vector<std::size_t>> items_;     // by chapter
  std::vector<std::optional<std::string>> cannot_;  // by chapter
  // Of each chapter: its own values of joined settings where shared cases have others; monostate:
  // none.
  std::vector<store::Parameters> settings_;
};

}  // namespace assay::run
