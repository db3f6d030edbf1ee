#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay::cheats {

// tests/cheats/cheats.yaml, which explains the fields. Cases and experiments are JSON, as they
// stand in an experiment.
struct Cheat {
  std::string name;
  std::string family;
  std::string set;
  std::string does;
  std::vector<std::string> seen;
  std::string naive;
  std::string experiment;
  nlohmann::ordered_json its_case;
  nlohmann::ordered_json honest;  // the twin's case
  nlohmann::ordered_json victim;  // null: none
  bool victim_comes_first = false;
  std::string proof;
  std::map<std::string, std::string> says;  // level to verdict
  std::string open;
};

struct Experiment {
  std::string device;
  int threads = 1;  // OpenMP's
  std::vector<std::string> plugins;
  std::vector<nlohmann::ordered_json> controls;  // cases of assay's own variants
  nlohmann::ordered_json text;                   // without its cases
};

struct Table {
  std::vector<std::pair<std::string, nlohmann::ordered_json>> levels;  // name to settings
  std::vector<std::string> machine_marks;
  std::vector<std::pair<std::string, std::string>> sets;      // name to words
  std::vector<std::pair<std::string, std::string>> families;  // name to heading
  std::vector<std::string> tampering;
  std::map<std::string, std::string> sources;
  std::map<std::string, Experiment> experiments;
  std::vector<Cheat> cheats;
};

// Verdicts that are neither an outcome nor a mark.
inline constexpr const char* nothing = "nothing";        // a plain number
inline constexpr const char* kept = "kept";              // what was tampered with is as it was
inline constexpr const char* unrecorded = "unrecorded";  // not tried yet

std::filesystem::path table_file();
// Throws std::runtime_error with the place of a mistake.
Table read_table();

}  // namespace assay::cheats
