#pragma once

#include <memory>

#include "run/launch/job.h"
#include "run/schedule/runner.h"
#include "run/workers/worker_group.h"

namespace assay::run {

// The ranks that a run's launcher has started. Made before the plan's cases are resolved, which
// follows what its nodes have.
struct Launched {
  std::unique_ptr<RankJob> job;  // null: this host starts the ranks of each case
  Machine machine;               // of the first node; this host's without a job
};

// The cases of the request, as that machine resolves them; both outlive it.
Work work_of(const RunRequest& request, const Machine& machine);

// The ranks that the chosen cases need at most, on how many nodes.
LaunchSize needed_size(const Work& work);
Result<Launched> launch(const RunRequest& request, const Machine& host, Interrupt& interrupt,
                        Observer& observer);

// The machine of a session: with a job, that of each of its nodes with the ranks there.
nlohmann::json machine_of_session(const Launched& launched);

// Marks a case over nodes that do not stand for machines.
void mark_simulated_nodes(const Launched& launched, const ResolvedCase& resolved, CaseEnd& end);

}  // namespace assay::run
