#include "report/spec/schema.h"

#include <algorithm>

#include "report/spec/ceiling_names.h"
#include "report/spec/format.h"
#include "report/spec/spec.h"
#include "store/records/units.h"

namespace assay::report {
namespace {

using nlohmann::json;

json described(json schema, const char* description) {
  schema["description"] = description;
  return schema;
}

json refer(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

json text() { return {{"type", {"string", "number", "boolean"}}}; }

json boolean() { return {{"type", "boolean"}}; }

json list_of(const json& item) { return {{"type", "array"}, {"items", item}}; }

json one_or_list(const json& item) { return {{"anyOf", {item, list_of(item)}}}; }

json words(const std::vector<std::string>& choices) { return {{"enum", choices}}; }

// What an editor offers, where other text may stand too.
json suggested(const std::vector<std::string>& choices) {
  return {{"anyOf", {words(choices), {{"type", "string"}}}}};
}

json texts_by_name() { return {{"type", "object"}, {"additionalProperties", text()}}; }

json object(json properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

json with(json properties, const json& more) {
  properties.update(more);
  return properties;
}

json cells() {
  json properties = json::object();
  for (const std::string& key : cell_text_keys()) properties[key] = text();
  return described(object(properties), "What stands for a cell that is no number.");
}

json where() { return described(refer("filter"), "Which results: values by axis, or conditions."); }

json look() {
  return {{"format", refer("format")},
          {"labels", described(texts_by_name(), "What is shown for a value.")},
          {"other", described(text(), "What is shown for a value without a label.")},
          {"cells", refer("cells")},
          {"align", words({"left", "right", "center"})},
          {"show", described(boolean(), "false: only other columns use it.")}};
}

std::vector<std::string> all_ceiling_names() {
  std::vector<std::string> all;
  for (const std::string_view unit : ceiling_units) {
    for (std::string& name : ceiling_names(unit)) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
    }
  }
  return all;
}

json measure() {
  return {{"metric", text()},
          {"rate", described(text(), "A counted metric; shows it divided by the time.")},
          {"share_of", described(suggested(all_ceiling_names()),
                                 "Of a rate: divided by this ceiling of the machine.")},
          {"pass", text()},
          {"part", described(one_or_list(text()), "Phase, kernel, stream or tensor.")},
          {"source", described(text(), "Number or name of a run, where several are shown.")},
          {"rank", described(text(), "max, min, mean, all, or the number of one.")},
          {"where", where()},
          {"stat", one_or_list(refer("statistic"))},
          {"unit", refer("unit")},
          {"relative_to", described(refer("filter"), "Divided by the same figure of that case.")},
          {"ratio", words({"relative", "speedup"})},
          {"pool", described(one_or_list(text()), "Axes whose samples are taken together.")}};
}

json separator() { return {{"separator", described(text(), "Between what is joined.")}}; }

json column() {
  json properties = with(with(look(), measure()), separator());
  properties.update(json{
      {"axis", described(text(), "Shows the value of an axis.")},
      {"metric", described(text(), "Shows a figure.")},
      {"expr", described(text(), "Shows a calculation over columns and axes.")},
      {"join", described(list_of({{"anyOf", {text(), refer("column")}}}),
                         "Shows several columns in one cell.")},
      {"text", described(text(), "Shows a template over columns and axes.")},
      {"outcome", described(words({"row"}), "Shows the row's first outcome that is not ok.")}});
  return object(properties);
}

json row_axis() {
  return {{"anyOf",
           {text(),
            object(with(look(), {{"axis", text()}, {"name", text()}, {"unit", refer("unit")}}))}}};
}

json pivot() {
  return object(
      with(with(look(), measure()),
           {{"by", described(one_or_list(text()), "Axes whose combinations are the columns.")},
            {"name", described(text(), "Template of a column's name over `by`.")}}));
}

json note() {
  return {{"anyOf",
           {text(), object({{"each", text()},
                            {"separator", text()},
                            {"last", text()},
                            {"text", described(text(), "The sentence, with {rows}, {count}.")}})}}};
}

json repeated(const char* what) {
  return {{"title", described(text(), "Template over the axes of for_each.")},
          {"for_each", described(one_or_list(text()), what)}};
}

json grid() {
  const json by_name = {{"type", "object"}, {"additionalProperties", refer("column")}};
  return {{"rows", described(one_or_list(row_axis()), "Axes that tell rows apart.")},
          {"columns", described(by_name, "What each column shows, by its name.")},
          {"pivot", described(one_or_list(refer("pivot")), "A column for each combination.")},
          {"where", where()},
          {"sort", described(one_or_list(text()), "Columns and axes; -name downwards.")},
          {"omit", described(one_or_list(text()), "Outcomes whose rows are left out.")},
          {"note", described(note(), "Names the omitted rows below.")},
          {"keep", described(text(), "Condition over columns.")},
          {"limit", {{"type", "integer"}, {"minimum", 0}}},
          {"cells", refer("cells")},
          {"reasons", described(boolean(), "Why cells are no numbers, below.")},
          {"formulas", described(boolean(), "How rates are derived, below.")}};
}

json table() {
  return object(
      with(with(grid(), repeated("A table for each value of these axes.")),
           {{"index", described(boolean(), "A first column that counts rows.")},
            {"summary", described(one_or_list(text()), "Lines below, {mean(column)}.")}}));
}

json text_block() {
  const json each = {
      {"type", "object"},
      {"additionalProperties",
       {{"anyOf",
         {text(), object(with({{"over", one_or_list(text())}, {"row", text()}}, separator()))}}}}};
  const json group = object(
      {{"by", one_or_list(text())}, {"before", text()}, {"between", text()}, {"after", text()}});
  return object(
      with(with(grid(), repeated("A block for each value of these axes.")),
           {{"before", text()},
            {"header", text()},
            {"row", described(text(), "Template of one row.")},
            {"between", text()},
            {"after", text()},
            {"row_when", described(texts_by_name(), "Another template for rows of an outcome.")},
            {"each", described(each, "Lines repeated over an axis, {each.NAME} in the row.")},
            {"group", described(group, "Lines around rows that share these axes.")}}));
}

json plot() {
  return object(with(repeated("A picture for each value of these axes."),
                     {{"x", described(text(), "An axis.")},
                      {"x_unit", refer("unit")},
                      {"y", described(object(with(look(), measure())), "A figure.")},
                      {"y_title", text()},
                      {"series", described(one_or_list(text()), "Axes that make lines.")},
                      {"labels", texts_by_name()},
                      {"where", where()},
                      {"scale", words({"linear", "log-log", "log-x", "log-y"})},
                      {"bars", words({"none", "std", "interval"})}}));
}

json timeline() {
  return object(
      with(repeated("A picture for each value of these axes."),
           {{"values", described(one_or_list(text()), "Metrics over time, of one quantity.")},
            {"unit", refer("unit")},
            {"lanes", described(one_or_list(text()), "Parts, a row of spans each.")},
            {"phases", described(one_or_list(text()), "Parts marked behind.")},
            {"overlap", described(object({{"of", text()}, {"with", text()}}),
                                  "Share of one part's time within another's, by rank.")},
            {"labels", texts_by_name()},
            {"where", where()}}));
}

json flame() {
  return object(
      with(repeated("A picture for each value of these axes."),
           {{"metric", described(text(), "What the widths are; `time` where nothing is said.")},
            {"unit", refer("unit")},
            {"shares", described(one_or_list(text()), "Frames with a row of a table each.")},
            {"where", where()}}));
}

json findings() {
  const std::vector<std::string> kinds{"speedup", "scaling", "warmup", "noise", "failures"};
  const json options = {{"axis", text()}, {"baseline", text()}, {"where", where()}};
  json properties = json::object();
  for (const std::string& kind : kinds) properties[kind] = object(options);
  properties["speedup"]["properties"]["by"] =
      described(text(), "An axis whose values are told one by one, too.");
  return one_or_list({{"anyOf", {words(kinds), object(properties)}}});
}

json block() {
  const json heading = {
      {"anyOf",
       {text(), object({{"text", text()},
                        {"level", {{"type", "integer"}, {"minimum", 2}, {"maximum", 6}}}})}}};
  const json layout = {{"anyOf", {text(), object({{"name", text()}, {"where", where()}})}}};
  json schema =
      object({{"heading", heading},
              {"prose", described(text(), "Markdown.")},
              {"table", described(refer("table"), "A Markdown table.")},
              {"text", described(refer("text"), "A code block made from templates.")},
              {"plot", described(refer("plot"), "A picture: a figure over an axis.")},
              {"timeline", described(refer("timeline"), "A picture: one case over time.")},
              {"flame", described(refer("flame"), "A picture: where one case spends its time.")},
              {"findings", described(findings(), "Sentences made from the data.")},
              {"layout", described(layout, "The blocks of configs/layouts/NAME.yaml.")}});
  schema["minProperties"] = schema["maxProperties"] = 1;
  return schema;
}

}  // namespace

json report_schema() {
  const json filter = {{"anyOf",
                        {one_or_list({{"type", "string"}}),
                         {{"type", "object"}, {"additionalProperties", one_or_list(text())}}}}};
  return {{"type", {"array", "null"}},
          {"items", refer("block")},
          {"definitions",
           {{"block", block()},
            {"table", table()},
            {"text", text_block()},
            {"plot", plot()},
            {"timeline", timeline()},
            {"flame", flame()},
            {"column", column()},
            {"pivot", pivot()},
            {"filter", filter},
            {"cells", cells()},
            {"statistic", words(statistic_names())},
            {"unit", suggested(store::known_units())},
            {"format", described(suggested(format_names()), "How a number is written.")}}}};
}

}  // namespace assay::report
