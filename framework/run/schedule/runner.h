#pragma once

// run/schedule runs an experiment from its plan to its stored results: it selects the cases that
// are left, orders them and judges the machine's health. It depends on the other folders of run,
// except plugins, and on store/database. Start here.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "run/cases/resolve.h"
#include "run/launch/job.h"
#include "run/process/installation.h"
#include "run/schedule/impossible.h"
#include "run/schedule/selection.h"
#include "run/schedule/work.h"
#include "run/workers/profiling_tool.h"
#include "store/database/database.h"

namespace assay::run {

// Follows an experiment while it runs. Called from the running thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_started(const std::string& run, std::size_t cases, std::size_t already_done) = 0;
  // What a user must know before the first case, such as where ranks are awaited.
  virtual void told(const std::string&) {}
  // The following calls are about this case. Cases that take turns all start before the first of
  // them ends; each is announced again just before it finishes.
  virtual void case_started(std::size_t index, const std::string& description) = 0;
  virtual void case_doing(const std::string& what) = 0;
  virtual void case_finished(const store::CaseResult& result) = 0;
  // First signal: the run ends after the current cases. A second one ends it at once.
  virtual void interrupted() {}
};

// Builds what the cases' compiled options ask for (run/plugins/compiled_options.h). stop: asked now
// and then; true ends it early.
using BuildCompiled = std::function<CompiledLibraries(const std::vector<CompiledNeed>& needs,
                                                      const std::function<bool()>& stop)>;

struct RunRequest {
  const Installation& installation;
  const catalogue::Catalogue& catalogue;
  const config::Experiment& experiment;
  const config::Plan& plan;
  std::filesystem::path results;             // has a folder for each run
  std::vector<std::string> overrides;        // as given, for the record
  std::optional<std::string> resume;         // the run to complete
  bool allow_external = false;               // overrides ASSAY_TRUSTED (run/external/permission.h)
  Again again = {};                          // what a resumed run measures anew
  std::vector<std::string> plugins = {};     // files named with --plugin, for the record
  BuildCompiled build_compiled = {};         // empty: cases that ask for it are skipped
  std::optional<ProfilingTool> under = {};   // starts the workers; nothing measured is kept
  std::optional<LaunchRequest> launch = {};  // starts the ranks; empty: this host does
  std::string name = {};                     // of a new run; "": the experiment's with a number
  std::string baseline = {};                 // that the run is kept as (store/database/baselines.h)
  // Of a suite, in place of the plan; `experiment` then has its name, title and text.
  std::vector<ChapterPlan> chapters = {};
  store::SuiteRecord suite = {};  // its chapters and texts, for the record
  // Of a machine, as the record of a run describes it: what no time may beat. Asked once, as soon
  // as interrupts are heard.
  std::function<std::vector<DeviceCeilings>(const nlohmann::json& machine)> ceilings = {};
};

struct RunEnd {
  std::string run;
  std::map<Outcome, std::size_t> outcomes;
  bool interrupted = false;
};

// Runs the selected cases of the plan or of the chapters (run/schedule/selection.h) and records
// each as soon as it ends; a result to be replaced stays until then. A failed write ends the run
// with ExitCode::results_unreadable; it can be resumed.
Result<RunEnd> run_experiment(const RunRequest& request, store::Database& database,
                              Observer& observer);

}  // namespace assay::run
