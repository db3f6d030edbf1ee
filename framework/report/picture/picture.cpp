#include "report/picture/picture.h"

#include "base/text.h"
#include "report/picture/gnuplot.h"

namespace assay::report {

std::string picture_title(const Template& title, const Filter& combination) {
  if (!title.empty()) {
    return title.render([&](const Template::Field& field) {
      const Condition* condition = combination.on(field.name);
      return pad(condition ? condition->values.front() : "", field.spec);
    });
  }
  std::vector<std::string> parts;
  for (const Condition& condition : combination.conditions)
    parts.push_back(condition.values.front());
  return join(parts, ", ");
}

Section picture(const std::filesystem::path& folder, const std::string& name,
                const std::string& alternative, const std::string& csv,
                const std::function<std::string(const std::filesystem::path& svg)>& script) {
  if (folder.empty()) return Paragraph{"No plot: this report has no folder to keep one in."};
  const auto problem = [](const Error& error) {
    return Paragraph{"No plot: " + error.text() + "."};
  };
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const auto written = write_file((folder / (name + ".csv")).string(), csv);
  if (!written) return problem(written.error());
  const std::filesystem::path svg = folder / (name + ".svg");
  const auto done = draw(script(svg), svg);
  if (!done) return problem(done.error());
  return Picture{name + ".svg", alternative};
}

}  // namespace assay::report
