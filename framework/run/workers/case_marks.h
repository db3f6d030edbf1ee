#pragma once

#include "run/workers/case_end.h"
#include "store/records/case_facts.h"
#include "wire/messages.h"

namespace assay::run {

// The members of `own`, on every level, that `other` lacks or has with another value.
nlohmann::json difference(const nlohmann::json& own, const nlohmann::json& other);

// How plugins have written to what judges them, which add_marks() leaves as a mark, the first of
// several; "" where none has. Takes all such marks: the case's reason says it.
std::string tampered(store::CaseFacts& of_case);

// Adds what a rank left behind to the case's marks, each mark once: memory ("leak"), running
// processes ("processes"), threads, other settings of its process. True where it left any: its
// worker cannot be used again.
bool add_marks(const store::CaseFacts& of_rank, store::CaseFacts& of_case);

// Marks each time of whose timed calls none was compared with a reference. A workload without
// inputs that calls could get anew is exempt where no variant does its work.
void mark_not_looked_at(const wire::CaseRequest& request, CaseEnd& end);

}  // namespace assay::run
