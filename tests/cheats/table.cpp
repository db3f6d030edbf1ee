#include "table.h"

#include <stdexcept>

#include "yaml/document.h"
#include "yaml/values.h"

namespace assay::cheats {

namespace {

using Json = nlohmann::ordered_json;

// In the order written, which yaml::to_json() does not keep.
Json ordered(const yaml::Node& node) {
  if (node.is_mapping()) {
    Json object = Json::object();
    for (const auto& [key, value] : node.entries) object[key.text] = ordered(value);
    return object;
  }
  if (node.is_sequence()) {
    Json array = Json::array();
    for (const yaml::Node& item : node.items) array.push_back(ordered(item));
    return array;
  }
  return Json::parse(yaml::to_json(node).dump());
}

std::vector<std::string> texts(const Json& list) { return list.get<std::vector<std::string>>(); }

// The cheat's case with other variants in it, at the same sizes. How it is isolated is no matter of
// the twin's, which then needs no worker of its own.
Json twin_of(Json its_case, const Json& honest) {
  its_case.erase("measure.isolation");
  for (const auto& [name, value] : honest.items()) its_case[name] = value;
  return its_case;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs(const Json& mapping) {
  Pairs made;
  for (const auto& [name, words] : mapping.items()) made.emplace_back(name, words);
  return made;
}

Cheat cheat_of(const Json& row, const Json& experiments) {
  Cheat cheat;
  cheat.name = row.at("cheat");
  cheat.family = row.at("family");
  cheat.set = row.value("set", "first");
  cheat.does = row.at("does");
  cheat.seen = texts(row.at("seen"));
  cheat.naive = row.at("naive");
  cheat.experiment = row.at("experiment");
  cheat.its_case = row.at("case");
  const Json& experiment = experiments.at(cheat.experiment);
  cheat.honest =
      twin_of(cheat.its_case, row.contains("honest") ? row["honest"] : experiment.at("honest"));
  if (row.contains("victim")) {
    cheat.victim = row["victim"];
    cheat.victim_comes_first = row.at("place") == "before";
  }
  cheat.proof = row.value("proof", "");
  for (const char* level : {"fast", "full"}) cheat.says[level] = row.value(level, unrecorded);
  cheat.open = row.value("open", "");
  return cheat;
}

}  // namespace

std::filesystem::path table_file() { return ASSAY_SOURCE_DIR "/tests/cheats/cheats.yaml"; }

Table read_table() {
  const auto read = yaml::parse_file(table_file());
  if (!read) throw std::runtime_error(read.error().text());
  const Json json = ordered(*read);
  Table table;
  for (const auto& [level, settings] : json.at("levels").items()) {
    table.levels.emplace_back(level, settings);
  }
  table.machine_marks = texts(json.at("machine_marks"));
  table.sets = pairs(json.at("sets"));
  table.families = pairs(json.at("families"));
  table.tampering = texts(json.at("tampering"));
  table.sources = json.at("sources").get<std::map<std::string, std::string>>();
  for (const auto& [name, experiment] : json.at("experiments").items()) {
    table.experiments[name] = {
        experiment.at("device"), experiment.value("threads", 1), texts(experiment.at("plugins")),
        experiment.value("controls", std::vector<Json>()), experiment.at("text")};
  }
  for (const Json& row : json.at("cheats")) {
    table.cheats.push_back(cheat_of(row, json.at("experiments")));
  }
  return table;
}

}  // namespace assay::cheats
