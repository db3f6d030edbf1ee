#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../end_to_end/support/folder.h"
#include "host.h"
#include "records.h"
#include "store/records/records.h"

namespace assay::faults {

// A folder in which assay runs, its database afterwards and the record of the test.
class Trial {
 public:
  explicit Trial(std::string group);

  const test::Folder& folder() const { return folder_; }
  // Added to the environment of every process.
  std::map<std::string, std::string> environment;

  Host::Command command(const std::vector<std::string>& arguments) const;
  // Runs it to its end and looks for leftovers: processes, shared memory, ports.
  End run(const std::vector<std::string>& arguments, double limit_s = 200) const;

  std::filesystem::path database() const { return folder_.path() / "results" / "assay.db"; }
  // A stored run, "" for the newest; without cases where there is none.
  store::Run stored(const std::string& name = "") const;
  std::vector<std::string> run_names() const;
  // Checks that the database is sound and holds no case of a run twice.
  void expect_sound() const;
  // Removes folders that differ between machines from a reason.
  std::string without_places(std::string text) const;

  // For a process started without run(): its reported cases must not be lost.
  void saw(const End& end) const;
  // The test has destroyed the database: forgets the reported cases and lets it be damaged.
  void forget_reported() const {
    reported_.clear();
    destroyed_ = true;
  }
  // The cases reported as finished that the database lacks or has otherwise, by description and
  // run; "nothing" where there are none.
  std::string lost() const;

  // Writes the row unless the test has failed, a case is lost or the database is damaged. Compares
  // outcome and cause with the committed row. may_vary: the cause varies.
  void record(const std::string& done, const std::string& outcome, const std::string& reason,
              const std::string& others, bool may_vary = false) const;

 private:
  std::string group_;
  test::Folder folder_;
  // Observed cases by the run's name: description and outcome.
  mutable std::map<std::string, std::map<std::string, std::string>> reported_;
  mutable bool destroyed_ = false;
};

// The cases that a run's progress lines report as finished: description and outcome.
std::map<std::string, std::string> reported(const std::string& errors);

// Every series of the run's cases: "<key_text> | pass metric part rank outcome".
std::set<std::string> series_of(const store::Run& run);

// An environment variable as a number, for tests with a short and a long form.
int number_from_environment(const char* name, int otherwise);

}  // namespace assay::faults
