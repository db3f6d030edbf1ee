#pragma once

// run/schedule runs an experiment from its plan to its stored results: which cases are left, in
// which order, and whether the machine is fit. It depends on the other folders of run, except
// plugins, and on store/database. Start here.

#include <map>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "run/cases/resolve.h"
#include "run/schedule/selection.h"
#include "run/workers/installation.h"
#include "store/database/database.h"

namespace assay::run {

// Told what happens while an experiment runs. Called from the running thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_started(const std::string& run, std::size_t cases, std::size_t already_done) = 0;
  // What is told from now on is of this case. Cases that take turns all begin before the first of
  // them ends; of such a one this is told again just before it is finished.
  virtual void case_started(std::size_t index, const std::string& description) = 0;
  virtual void case_doing(const std::string& what) = 0;
  virtual void case_finished(const store::CaseResult& result) = 0;
  // The run ends with the cases it is at; once more, and it ends at once.
  virtual void interrupted() {}
};

struct RunRequest {
  const Installation& installation;
  const catalogue::Catalogue& catalogue;
  const config::Experiment& experiment;
  const config::Plan& plan;
  std::vector<std::string> overrides;     // as given, for the record
  std::optional<std::string> resume;      // the run to complete; its finished cases are kept
  bool allow_external = false;            // whatever ASSAY_TRUSTED says (run/external/permission.h)
  Again again = {};                       // of a run that is resumed: what is measured anew
  std::vector<std::string> plugins = {};  // files named with --plugin, for the record
};

struct RunEnd {
  std::string run;
  std::map<Outcome, std::size_t> outcomes;
  bool interrupted = false;
};

// Runs every case of the plan that is wanted (run/schedule/selection.h), recording each as soon as
// it ends; a result that is replaced stays until then. When the database cannot be written any
// more, the run ends with ExitCode::results_unreadable and may be resumed.
Result<RunEnd> run_experiment(const RunRequest& request, store::Database& database,
                              Observer& observer);

}  // namespace assay::run
