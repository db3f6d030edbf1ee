#pragma once

#include <nlohmann/json.hpp>

namespace assay::run {

// The members of `own`, on every level, that `other` has not or has otherwise.
nlohmann::json difference(const nlohmann::json& own, const nlohmann::json& other);

// Adds to the case's context["marks"] what one rank tells of the state it leaves its worker in:
// memory that was not given back ("leak"), processes that still run ("processes"). Each once.
// True where there is such a thing: the worker is of no more use.
bool add_marks(const nlohmann::json& rank_context, nlohmann::json& case_context);

}  // namespace assay::run
