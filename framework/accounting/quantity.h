#pragma once

// accounting holds what can be counted before anything runs: parameters, FLOPs, memory, volumes and
// bounds of a model on a machine, each with its formula. It depends on model. Start here.
//
// Units: bytes, FLOPs, seconds, tokens; counts are doubles, exact below 2^53.

#include <string>
#include <utility>
#include <vector>

namespace assay::accounting {

struct Quantity {
  std::string name;          // "state: weights"
  std::string unit;          // "byte", "FLOP", "s", "token", "count", or "" for a ratio
  std::string formula;       // "4 * P", in the language of expressions
  std::string substitution;  // "4 * 219848638464": the formula with its values
  double value = 0;
  std::string source = {};  // where the formula is from; "" where it is plain arithmetic
};

using Quantities = std::vector<Quantity>;
using Values = std::vector<std::pair<std::string, double>>;  // by the formula's names

// Writes each name's value into the formula: whole numbers in full, others to 9 digits.
std::string substituted(const std::string& formula, const Values& values);

Quantity quantity(std::string name, std::string unit, std::string formula, const Values& values,
                  double value, std::string source = {});

// The sum of them all, whose formula names them.
Quantity sum(std::string name, const Quantities& terms);

// Throws std::out_of_range for a name that is not among them.
const Quantity& named(const Quantities& quantities, const std::string& name);
double value_of(const Quantities& quantities, const std::string& name);

}  // namespace assay::accounting
