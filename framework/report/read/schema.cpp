#include "report/read/schema.h"

#include "report/read/read_blocks.h"
#include "report/read/read_columns.h"
#include "report/read/shapes.h"
#include "report/spec/format.h"
#include "report/spec/spec.h"
#include "report/spec/statistic.h"
#include "store/records/units.h"

namespace assay::report {

using nlohmann::json;

namespace {

std::string meaning_of_cell(const std::string& key) {
  const std::string meaning = key == "missing"     ? "No result is stored"
                              : key == "undefined" ? "The figure cannot be computed"
                                                   : "The outcome is `" + key + "`";
  const std::string text = default_cell_text(key);
  return meaning + "; by default " + (text.empty() ? "empty." : "`" + text + "`.");
}

}  // namespace

json report_schema() {
  using shape::one_or_list;
  using shape::text;
  json cells = json::object();
  for (const std::string& key : cell_text_keys()) {
    cells[key] = yaml::described(text(), meaning_of_cell(key));
  }
  const json filter = {
      {"anyOf", {one_or_list({{"type", "string"}}), shape::by_name(one_or_list(text()))}}};
  return {
      {"type", {"array", "null"}},
      {"items", shape::refer("block")},
      {"definitions",
       {{"block", block_schema()},
        {"table", yaml::object_schema(table_keys())},
        {"text", yaml::object_schema(text_keys())},
        {"plot", yaml::object_schema(plot_keys())},
        {"timeline", yaml::object_schema(timeline_keys())},
        {"flame", yaml::object_schema(flame_keys())},
        {"artefacts", yaml::object_schema(artefacts_keys())},
        {"column", yaml::object_schema(column_keys())},
        {"figure", yaml::object_schema(figure_keys())},
        {"row", yaml::object_schema(row_axis_keys())},
        {"pivot", yaml::object_schema(pivot_keys())},
        {"filter", filter},
        {"cells", yaml::described(yaml::object_schema(cells), "Texts of cells without a number.")},
        {"statistic", shape::words(statistic_names())},
        {"unit", shape::suggested(store::known_units())},
        {"format", yaml::described(shape::suggested(format_names()), "Number format.")}}}};
}

}  // namespace assay::report
