#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/records/parameters.h"

namespace assay::run {

// A case as a chapter of a suite asks for it.
struct AskedCase {
  std::size_t chapter = 0;
  std::size_t index = 0;         // in the chapter's plan
  store::Parameters parameters;  // `auto` settled
  // What decides beside the parameters: the contents of its configs, the operations it names.
  std::string sources;
  std::vector<std::size_t> group;  // places of the cases it takes turns with and of itself; or none
  bool skipped = false;            // this machine cannot run it, so its settings join no other's
};

struct AskingChapter {
  std::string name;
  std::vector<std::string> passes;
};

// Measured once, for all that ask for it.
struct SharedCase {
  std::size_t first = 0;              // of those that ask, a place in `asked`
  store::Parameters parameters;       // with joined settings
  std::vector<std::string> passes;    // the union of those that its chapters ask
  std::vector<std::size_t> chapters;  // that ask, ascending
};

struct Sharing {
  std::vector<SharedCase> cases;
  std::vector<std::size_t> of;  // the case of each place in `asked`
};

// The settings that a shared case has as the union of what its chapters ask: whether phases are
// read, observers, their steps. A chapter in which such a setting varies keeps its own.
const std::vector<std::string>& joined_settings();

// Cases are one where parameters (but joined settings) and sources are equal, and so are those of
// all cases they take turns with. Of several that have equal parameters and still are not one, the
// later get store::chapter_parameter, so that each has a key of its own.
Sharing share_cases(const std::vector<AskedCase>& asked,
                    const std::vector<AskingChapter>& chapters);

}  // namespace assay::run
