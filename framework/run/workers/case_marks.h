#pragma once

#include "store/records/case_facts.h"

namespace assay::run {

// The members of `own`, on every level, that `other` has not or has otherwise.
nlohmann::json difference(const nlohmann::json& own, const nlohmann::json& other);

// Adds to the case's marks what one rank tells of the state it leaves its worker in:
// memory that was not given back ("leak"), processes that still run ("processes"). Each once.
// True where there is such a thing: the worker is of no more use.
bool add_marks(const store::CaseFacts& of_rank, store::CaseFacts& of_case);

}  // namespace assay::run
