#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/launch/agent.h"
#include "run/process/interrupt.h"

namespace assay::run {

// Waits until every rank of a launch has joined. Drops connections without the token
// (wire/arrivals.h).
// commands: what started them, if anything; their last words explain a failure. ranks: 0 takes the
// size from the first that joins. there: ranks that have joined before, by number. Errors: a
// command ended, ranks are late, two are the same, one is of a world of another size, the user
// stops.
Result<std::vector<std::shared_ptr<Agent>>> gather(wire::Listener& listener,
                                                   const std::string& token, int ranks,
                                                   std::vector<Process>& commands,
                                                   Interrupt* interrupt,
                                                   std::vector<std::shared_ptr<Agent>> there = {});

}  // namespace assay::run
