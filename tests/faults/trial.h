#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../end_to_end/folder.h"
#include "host.h"
#include "records.h"
#include "store/records/records.h"

namespace assay::faults {

// A folder of its own in which assay is run, what is in its database afterwards, and the record of
// what became of it.
class Trial {
 public:
  explicit Trial(std::string group);

  const test::Folder& folder() const { return folder_; }
  // For everything that is started.
  std::map<std::string, std::string> environment;

  Host::Command command(const std::vector<std::string>& arguments) const;
  // Runs it to its end and looks for what it has left behind: processes, shared memory, ports.
  End run(const std::vector<std::string>& arguments, double limit_s = 200) const;

  std::filesystem::path database() const { return folder_.path() / "results" / "assay.db"; }
  // A stored run, "" for the newest; no cases where there is none.
  store::Run stored(const std::string& name = "") const;
  std::vector<std::string> run_names() const;
  // The database is sound and holds no case of a run twice.
  void expect_sound() const;
  // In reasons: without the names of folders that differ from machine to machine.
  std::string without_places(std::string text) const;

  // For what is run without run(): the cases that it told as finished must not be lost.
  void saw(const End& end) const;
  // What was told so far counts no more, and the database need not be sound: the test itself has
  // destroyed it.
  void forget_what_was_told() const {
    told_.clear();
    destroyed_ = true;
  }
  // The cases that were told as finished and are not in the database as they were told: "nothing",
  // or each by its description and run.
  std::string lost() const;

  // Writes the row, unless the test has failed, when nothing is lost and the database is sound; and
  // compares outcome and cause with the committed row. may_vary: its cause is not the same each
  // time.
  void record(const std::string& done, const std::string& outcome, const std::string& reason,
              const std::string& others, bool may_vary = false) const;

 private:
  std::string group_;
  test::Folder folder_;
  // By the run's name: description and outcome. What is observed, not what the trial is.
  mutable std::map<std::string, std::map<std::string, std::string>> told_;
  mutable bool destroyed_ = false;
};

// Cases that the progress lines of a run tell as finished, by their description, with their
// outcome.
std::map<std::string, std::string> told(const std::string& errors);

// Every series of the run's cases: "<key_text> | pass metric part rank outcome".
std::set<std::string> series_of(const store::Run& run);

// Environment variable as a number, for tests that come in a short and a long form.
int number_from_environment(const char* name, int otherwise);

}  // namespace assay::faults
