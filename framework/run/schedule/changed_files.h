#pragma once

#include <string>

#include "run/schedule/provenance.h"
#include "run/workers/worker_group.h"

namespace assay::run {

// Refuses a case whose files changed while it was measured: its times may be of either build.
// before: the files it began with. description and identity, of the stored result's build, become a
// third build's, so that `--resume` measures the case again with whichever build is there then.
void refuse_changed_files(BuildIdentity& build, const ResolvedCase& resolved,
                          const BuildIdentity::Files& before, nlohmann::json& description,
                          std::string& identity, CaseEnd& end);

}  // namespace assay::run
