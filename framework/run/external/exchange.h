#pragma once

#include <functional>

#include "run/external/external_answers.h"
#include "run/workers/temporary_folder.h"

namespace assay::run {

// How an external case ends: what it has exchanged is verified first. `on_workers` answers a
// request as a worker does.
CaseEnd checked_by_workers(ExternalEnd external, const TemporaryFolder& folder,
                           const ResolvedCase& resolved,
                           const std::function<CaseEnd(const wire::CaseRequest&)>& on_workers);

// What a worker is asked about the exchanged calls of a case: on one rank, without the kind that
// the external program took part as.
wire::CaseRequest exchange_request(const ResolvedCase& resolved,
                                   std::vector<wire::ExchangeFile> exchanged);

// The external program's end with what the worker found: a pass that is wrong, or that cannot be
// verified although it should be, loses its figures to that outcome; one that nobody can verify is
// named in facts.unverified, as "variant: reason".
CaseEnd with_findings(ExternalEnd external, const CaseEnd& found, const std::string& variant);

}  // namespace assay::run
