#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "config/experiment.h"
#include "reading.h"

namespace assay::config {

inline std::string on_model(const std::string& rest) {
  return "experiment: test\nworkload: model_step\n" + rest;
}

// An experiment with one mistake.
struct Bad {
  const char* name;
  std::string text;
  const char* place;   // "line:column" in the file, or "--set 1" with or without a place
  const char* phrase;  // of the message
  Override override = {};
};

inline void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

// Each mistake gets one clear message at its place. Instances are in several files.
class BadInput : public testing::TestWithParam<Bad> {};

inline std::string name_of(const testing::TestParamInfo<Bad>& tested) { return tested.param.name; }

}  // namespace assay::config
