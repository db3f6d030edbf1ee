#include "report/picture/picture.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/picture/gnuplot.h"
#include "report/table/pivot.h"

namespace assay::report {

std::string picture_title(const Template& title, const Filter& combination) {
  if (!title.empty()) return render_title(title, combination);
  std::vector<std::string> parts;
  for (const Condition& condition : combination.conditions)
    parts.push_back(condition.values.front());
  return join(parts, ", ");
}

Result<void> require_one_case(const Records& records, const RecordIds& ids,
                              const std::vector<std::string_view>& ignored, std::string_view what,
                              const SourceLocation& where) {
  const std::vector<std::string> differences = differing_axes(records, ids, ignored);
  if (differences.empty()) return {};
  return fail_at(where,
                 fmt::format("a {} shows one case; the chosen ones differ in {}", what,
                             join(differences, ", ")),
                 "name these axes in `for_each`, or choose one case with `where`");
}

Section picture(const SideFiles& folder, const std::string& name, const std::string& alternative,
                const std::string& csv,
                const std::function<std::string(const std::filesystem::path& svg)>& script) {
  if (folder.path.empty()) return Paragraph{"No plot: this report has no folder for it."};
  const auto problem = [](const Error& error) {
    return Paragraph{"No plot: " + error.text() + "."};
  };
  std::error_code ignored;
  std::filesystem::create_directories(folder.path, ignored);
  const std::string file = folder.prefix + name;
  const auto written = write_file((folder.path / (file + ".csv")).string(), csv);
  if (!written) return problem(written.error());
  const std::filesystem::path svg = folder.path / (file + ".svg");
  const auto done = draw(script(svg), svg);
  if (!done) return problem(done.error());
  return Picture{file + ".svg", alternative};
}

}  // namespace assay::report
