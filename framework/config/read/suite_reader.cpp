#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "config/read/diagnostics.h"
#include "config/suite.h"
#include "yaml/keys.h"
#include "yaml/writer.h"

namespace assay::config {
namespace {

using nlohmann::json;
using yaml::Node;

struct RawChapter {
  Chapter chapter;
  const Node* name = nullptr;
  const Node* experiment = nullptr;
};

struct RawSuite {
  Suite suite;
  std::vector<const Node*> chapters;
  bool has_chapters = false;
};

template <class Target>
void read_part(const yaml::Keys<Diagnostics, Target>& keys, const Node& node,
               Diagnostics& diagnostics, Target& target) {
  yaml::read_keys(keys, node, diagnostics, target, [&](const Node& key) {
    diagnostics.add(key.where, fmt::format("unknown key '{}'{}", key.text,
                                           suggestion(key.text, yaml::names_of(keys))));
  });
}

// "" after a complaint.
std::string text_in(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  if (node.is_scalar() && !node.text.empty()) return node.text;
  diagnostics.add(node.where, fmt::format("'{}' must be text", key));
  return {};
}

std::string name_in(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  std::string name = text_in(diagnostics, node, key);
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (name.find_first_not_of(letters) == std::string::npos) return name;
  diagnostics.add(node.where, fmt::format("'{}' cannot name a {}", name, key),
                  "use lower-case letters, digits, '_' and '-'");
  return name;
}

std::vector<Node::Entry> settings_in(Diagnostics& diagnostics, const Node& node,
                                     const std::string& key) {
  if (node.is_mapping()) return node.entries;
  diagnostics.add(node.where, fmt::format("'{}' must be a mapping of names to values", key),
                  "such as {seq_len: [128, 256], measure.samples: 5}");
  return {};
}

std::vector<Node> filters_in(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  std::vector<Node> filters;
  for (const Node& item : node.one_or_more()) {
    if (!text_in(diagnostics, item, key).empty()) filters.push_back(item);
  }
  return filters;
}

const auto text_shape = yaml::Shape{json{{"type", "string"}}, text_in};
const auto title_shape = yaml::Shape{json{{"type", {"string", "number"}}}, text_in};
const auto name_shape =
    yaml::Shape{json{{"type", "string"}, {"pattern", "^[a-z0-9_-]+$"}}, name_in};
const auto settings_shape = yaml::Shape{json{{"type", "object"}}, settings_in};
const auto filters_shape = yaml::Shape{
    json{{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
    filters_in};

const yaml::Keys<Diagnostics, OnDevice>& device_keys() {
  static const yaml::Keys<Diagnostics, OnDevice> keys = {
      {"set", "Settings, after those of the chapter.", settings_shape, &OnDevice::settings},
      {"filter", "More expressions; only cases for which all hold are kept.", filters_shape,
       &OnDevice::filters},
      {"leave", "Why the chapter is left out there.", text_shape, &OnDevice::leave}};
  return keys;
}

void refuse_device(const Node& name, Diagnostics& diagnostics) {
  if (name.text != "device") return;
  diagnostics.add(name.where, "'device' chooses among the entries of `on`, so none can set it",
                  "set it in the chapter's own `set`");
}

void read_on(Diagnostics& diagnostics, const Node& node, RawChapter& raw) {
  if (!node.is_mapping()) {
    diagnostics.add(node.where, "'on' must be a mapping of devices",
                    "such as {cpu: {set: {seq_len: [128]}}}");
    return;
  }
  const std::vector<std::string> known = suite_devices();
  for (const auto& [device, value] : node.entries) {
    if (!std::ranges::count(known, device.text)) {
      diagnostics.add(device.where, fmt::format("there is no device '{}'{}", device.text,
                                                suggestion(device.text, known)));
    } else if (!value.is_mapping()) {
      diagnostics.add(value.where, fmt::format("'{}' must be a mapping of keys", device.text),
                      "known keys: " + join(yaml::names_of(device_keys()), ", "));
    } else {
      OnDevice& on = raw.chapter.on[device.text];
      read_part(device_keys(), value, diagnostics, on);
      for (const auto& [name, unused] : on.settings) refuse_device(name, diagnostics);
    }
  }
}

json on_schema() {
  json devices = json::object();
  for (const std::string& device : suite_devices()) {
    devices[device] = yaml::described(yaml::object_schema(device_keys()),
                                      "What holds where its cases run on " + device + ".");
  }
  return yaml::object_schema(std::move(devices));
}

// The name of a layout stands for a report of that layout alone.
Node report_in(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  if (!node.is_scalar()) return node;
  if (text_in(diagnostics, node, key).empty()) return {};
  Node name, entry, list;
  name.kind = Node::Kind::scalar;
  name.text = "layout";
  entry.kind = Node::Kind::mapping;
  list.kind = Node::Kind::sequence;
  name.where = entry.where = list.where = node.where;
  entry.entries.push_back({name, node});
  list.items.push_back(std::move(entry));
  return list;
}

const yaml::Keys<Diagnostics, RawChapter>& chapter_keys() {
  static const yaml::Keys<Diagnostics, RawChapter> keys = {
      {"chapter",
       "Name, for --only; the experiment's by default.",
       {{"type", "string"}, {"pattern", "^[a-z0-9_-]+$"}},
       [](Diagnostics& diagnostics, const Node& node, RawChapter& raw) {
         raw.name = &node;
         raw.chapter.name = name_in(diagnostics, node, "chapter");
       }},
      {"experiment",
       "A file, relative to the suite's, a shipped experiment's name, or an experiment.",
       {{"anyOf", {{{"type", "string"}}, {{"$ref", "#/definitions/experiment"}}}}},
       [](Diagnostics&, const Node& node, RawChapter& raw) { raw.experiment = &node; }},
      {"title", "The chapter's question; the experiment's title by default.", title_shape,
       [](RawChapter& raw, std::string title) { raw.chapter.changes.title = std::move(title); }},
      {"text", "Markdown below the question; alone, a text between chapters.", text_shape,
       [](RawChapter& raw, std::string text) { raw.chapter.text = std::move(text); }},
      {"set", "Settings, as --set: axes, fixed values, measure.*.", settings_shape,
       [](RawChapter& raw, std::vector<Node::Entry> settings) {
         raw.chapter.changes.settings = std::move(settings);
       }},
      {"filter", "Expressions, as --filter; only cases for which all hold are kept.", filters_shape,
       [](RawChapter& raw, std::vector<Node> filters) {
         raw.chapter.changes.filters = std::move(filters);
       }},
      {"report", "A layout's name or sections, in place of the experiment's report.",
       yaml::Shape{
           json{{"anyOf",
                 {{{"type", "string"}}, {{"$ref", "#/definitions/experiment/properties/report"}}}}},
           report_in},
       [](RawChapter& raw, Node report) { raw.chapter.changes.report = std::move(report); }},
      {"needs",
       "An expression; the chapter is left out where all cases for which it holds cannot run.",
       json{{"type", "string"}},
       [](Diagnostics& diagnostics, const Node& node, RawChapter& raw) {
         if (!text_in(diagnostics, node, "needs").empty()) raw.chapter.changes.needs = node;
       }},
      {"on", "Changes by device.", on_schema(), read_on}};
  return keys;
}

const yaml::Keys<Diagnostics, RawSuite>& suite_keys() {
  static const yaml::Keys<Diagnostics, RawSuite> keys = {
      {"suite", "Name of the suite; also of its runs.", name_shape,
       [](RawSuite& raw, std::string name) { raw.suite.name = std::move(name); }},
      {"title", "Heading of the document.", title_shape,
       [](RawSuite& raw, std::string title) { raw.suite.title = std::move(title); }},
      {"text", "Markdown below the heading.", text_shape,
       [](RawSuite& raw, std::string text) { raw.suite.text = std::move(text); }},
      {"chapters", "Experiments, and texts between them, in the document's order.",
       json{{"type", "array"}, {"minItems", 1}, {"items", yaml::object_schema(chapter_keys())}},
       [](Diagnostics& diagnostics, const Node& node, RawSuite& raw) {
         raw.has_chapters = true;
         if (!node.is_sequence() || node.items.empty()) {
           diagnostics.add(node.where, "'chapters' must be a list of chapters",
                           "such as [{experiment: quickstart}]");
         }
         for (const Node& item : node.items) raw.chapters.push_back(&item);
       }}};
  return keys;
}

class SuiteReader {
 public:
  SuiteReader(const std::string& file, const OpenFile& open, Diagnostics& diagnostics)
      : file_(file), open_(open), diagnostics_(diagnostics) {}

  void read(const Node& node, Suite& suite) {
    if (!node.is_mapping()) {
      diagnostics_.add(node.where, "a chapter is a mapping of keys",
                       "known keys: " + join(yaml::names_of(chapter_keys()), ", "));
      return;
    }
    RawChapter raw;
    raw.chapter.where = node.where;
    const std::size_t before = diagnostics_.size();
    read_part(chapter_keys(), node, diagnostics_, raw);
    if (raw.experiment != nullptr) {
      read_experiment(raw);
    } else {
      check_text(node, before);
    }
    if (raw.experiment != nullptr) check_name(raw);
    suite.chapters.push_back(std::move(raw.chapter));
  }

 private:
  void check_text(const Node& node, std::size_t before) {
    for (const auto& [key, value] : node.entries) {
      if (key.text == "text" || diagnostics_.size() > before) continue;
      diagnostics_.add(node.where, "the chapter names no experiment",
                       "write `experiment: FILE`; without one it has only `text`");
    }
  }

  void read_experiment(RawChapter& raw) {
    Chapter& chapter = raw.chapter;
    if (raw.experiment->is_mapping()) {
      chapter.file = file_;
      chapter.experiment = {*raw.experiment, {}};
      chapter.experiment_text = yaml::to_yaml(*raw.experiment);
    } else if (const std::string named = text_in(diagnostics_, *raw.experiment, "experiment");
               !named.empty()) {
      open(named, raw);
    }
    if (is_suite(chapter.experiment.root)) {
      diagnostics_.add(
          raw.experiment->where,
          chapter.file == file_
              ? "a chapter cannot be a suite"
              : fmt::format("'{}' is a suite, which cannot be a chapter", chapter.file),
          "name the experiments of its chapters here");
    }
    if (const Node* name = chapter.experiment.root.find("experiment");
        chapter.name.empty() && name != nullptr) {
      chapter.name = name->text;
    }
    if (chapter.name.empty()) chapter.name = std::filesystem::path(chapter.file).stem().string();
  }

  void open(const std::string& named, RawChapter& raw) {
    auto opened = open_(named);
    if (!opened) {
      for (const Diagnostic& one : opened.error().diagnostics) {
        diagnostics_.add(raw.experiment->where, one.message, one.hint);
      }
      return;
    }
    raw.chapter.named = named;
    raw.chapter.file = std::move(opened->path);
    raw.chapter.experiment_text = std::move(opened->text);
    auto document = yaml::read(raw.chapter.experiment_text, raw.chapter.file);
    if (document) {
      raw.chapter.experiment = std::move(*document);
    } else {
      diagnostics_.add(document.error());
    }
  }

  void check_name(const RawChapter& raw) {
    const auto& [known, is_new] = named_.try_emplace(raw.chapter.name, raw.chapter.where);
    if (is_new) return;
    diagnostics_.add(raw.name != nullptr ? raw.name->where : raw.chapter.where,
                     fmt::format("two chapters are named '{}'", raw.chapter.name),
                     fmt::format("name this one with `chapter: NAME`; the other is at line {}",
                                 known->second.line));
  }

  const std::string& file_;
  const OpenFile& open_;
  Diagnostics& diagnostics_;
  std::map<std::string, SourceLocation> named_;
};

}  // namespace

Result<Suite> read_suite(std::string_view text, const std::string& file_name,
                         const OpenFile& open) {
  const auto document = yaml::read(text, file_name);
  if (!document) return tl::unexpected(document.error());
  Diagnostics diagnostics(file_name);
  diagnostics.add({ExitCode::bad_input, document->mistakes});
  RawSuite raw;
  read_part(suite_keys(), document->root, diagnostics, raw);
  if (document->root.find("suite") == nullptr) {
    diagnostics.add(document->root.where, "the key 'suite' is missing",
                    "write 'suite: ...' at the top");
  }
  if (!raw.has_chapters) {
    diagnostics.add(document->root.where, "the key 'chapters' is missing",
                    "it lists the experiments, such as [{experiment: quickstart}]");
  }
  Suite& suite = raw.suite;
  suite.file = file_name;
  suite.written = text;
  if (suite.title.empty()) suite.title = suite.name;
  SuiteReader reader(suite.file, open, diagnostics);
  for (const Node* chapter : raw.chapters) reader.read(*chapter, suite);
  if (suite.names().empty() && diagnostics.empty()) {
    diagnostics.add(document->root.where, "the suite has texts but no chapter",
                    "add one, such as {experiment: quickstart}");
  }
  if (!diagnostics.empty()) return tl::unexpected(diagnostics.take());
  return std::move(suite);
}

json suite_schema() {
  json schema = yaml::object_schema(suite_keys());
  schema["required"] = {"suite", "chapters"};
  return schema;
}

json file_schema(json experiment) {
  json definitions = json::object();
  if (experiment.contains("definitions")) definitions = std::move(experiment["definitions"]);
  json schema = {{"$schema", experiment["$schema"]},
                 {"title", "assay experiment or suite"},
                 {"if", {{"required", {"suite"}}}},
                 {"then", {{"$ref", "#/definitions/suite"}}},
                 {"else", {{"$ref", "#/definitions/experiment"}}}};
  for (const char* of_file : {"$schema", "definitions", "title"}) experiment.erase(of_file);
  definitions["experiment"] = std::move(experiment);
  definitions["suite"] = suite_schema();
  schema["definitions"] = std::move(definitions);
  return schema;
}

}  // namespace assay::config
