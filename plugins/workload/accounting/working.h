#pragma once

#include <assay/record.h>

#include "accounting/quantity.h"

namespace assay::accounting {

// Records a quantity's unit, formula, substitution, result and source under its name, or under
// "group: name".
void record_working(const Quantity& quantity, const std::string& group, Recorder& recorder);
void record_working(const Quantities& quantities, const std::string& group, Recorder& recorder);

}  // namespace assay::accounting
