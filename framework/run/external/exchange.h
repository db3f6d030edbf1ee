#pragma once

#include <functional>

#include "run/external/external_answers.h"
#include "run/process/temporary_folder.h"

namespace assay::run {

// Verifies the exchanged tensors of an external case and returns its end. on_workers: answers a
// request as a worker does.
CaseEnd checked_by_workers(ExternalEnd external, const TemporaryFolder& folder,
                           const ResolvedCase& resolved,
                           const std::function<CaseEnd(const wire::CaseRequest&)>& on_workers);

// The request that verifies the exchanged calls of a case: on one rank, without the parameter of
// the external program's kind.
wire::CaseRequest exchange_request(const ResolvedCase& resolved,
                                   std::vector<wire::ExchangeFile> exchanged);

// Joins the worker's findings to the program's end. A pass that is wrong, or whose verification
// fails, keeps only that outcome; facts.unverified names each pass that cannot be verified, with
// "variant: reason".
CaseEnd with_findings(ExternalEnd external, const CaseEnd& found, const std::string& variant);

}  // namespace assay::run
