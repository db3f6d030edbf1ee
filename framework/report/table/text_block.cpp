#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/table/grid.h"
#include "report/table/pivot.h"
#include "report/table/reasons.h"
#include "report/table/table.h"

namespace assay::report {
namespace {

using Rows = std::vector<const GridRow*>;

// The rows of an `each`, by the block's row that contains them.
struct EachGrid {
  const Each* each;
  Grid grid;
  std::unordered_map<Key, Rows, KeyHash> rows;
};

class TextBlock {
 public:
  TextBlock(const Records& records, const TextSpec& spec) : records_(records), spec_(spec) {}

  Result<void> render(const Filter& combination, std::vector<Section>& sections) {
    auto grid = build_grid(records_, spec_.grid, combination);
    if (!grid) return tl::unexpected(grid.error());
    grid_ = std::move(*grid);
    if (grid_.rows.empty() && grid_.omitted.empty()) {
      const std::string why = unmet_conditions(records_, spec_.grid.where);
      sections.push_back(
          Paragraph{"No result matches this text" + (why.empty() ? "." : ": " + why + ".")});
      return {};
    }
    if (auto done = build_each(combination); !done) return done;
    const Rows rows = pointers_to(grid_.rows);
    if (spec_.before) add(*spec_.before, rows);
    if (spec_.header) add(*spec_.header, rows);
    if (spec_.group) {
      add_groups(rows);
    } else {
      add_rows(rows);
    }
    if (spec_.after) add(*spec_.after, rows);
    sections.push_back(TextSection{join(lines_, "\n") + "\n", "", marks_shown()});
    if (std::string note = note_text(records_, grid_, spec_.grid); !note.empty()) {
      sections.push_back(Paragraph{std::move(note)});
    }
    std::vector<std::string> lines = formulas(grid_, spec_.grid);
    std::ranges::move(reasons(records_, grid_, spec_.grid), std::back_inserter(lines));
    if (!lines.empty()) sections.push_back(List{std::move(lines)});
    return {};
  }

 private:
  std::set<std::string> marks_shown() const {
    std::set<std::string> marks = marks_of_cells(grid_);
    for (const EachGrid& built : each_) marks.merge(marks_of_cells(built.grid));
    return marks;
  }

  Result<void> build_each(const Filter& combination) {
    for (const Each& each : spec_.each) {
      GridSpec inner = spec_.grid;
      inner.sort.clear();
      inner.omit.clear();
      inner.keep.reset();
      inner.limit = 0;
      auto grid = build_grid(records_, inner, combination, each.over);
      if (!grid) return tl::unexpected(grid.error());
      each_.push_back({&each, std::move(*grid), {}});
      EachGrid& built = each_.back();
      for (const GridRow& row : built.grid.rows) {
        const auto end = row.key.begin() + static_cast<std::ptrdiff_t>(spec_.grid.keys.size());
        built.rows[Key(row.key.begin(), end)].push_back(&row);
      }
    }
    return {};
  }

  void add(const Template& text, const Rows& rows) {
    add_text(render_over_rows(records_, grid_, rows, text, spec_.grid.cells));
  }

  void add_text(const std::string& text) {
    for (std::string& line : split(text, '\n')) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines_.push_back(std::move(line));
    }
  }

  void add_groups(const Rows& rows) {
    const Group& group = *spec_.group;
    std::vector<std::pair<Key, Rows>> groups;
    std::unordered_map<Key, std::size_t, KeyHash> places;
    for (const GridRow* row : rows) {
      Key key;
      for (const std::string& axis : group.by) {
        const auto at = std::find(grid_.keys.begin(), grid_.keys.end(), axis);
        key.push_back(row->key[static_cast<std::size_t>(at - grid_.keys.begin())]);
      }
      const auto [at, added] = places.try_emplace(key, groups.size());
      if (added) groups.emplace_back(key, Rows());
      groups[at->second].second.push_back(row);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (i > 0 && group.between) add(*group.between, groups[i].second);
      if (group.before) add(*group.before, groups[i].second);
      add_rows(groups[i].second);
      if (group.after) add(*group.after, groups[i].second);
    }
  }

  void add_rows(const Rows& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > 0 && spec_.between) add(*spec_.between, {rows[i]});
      const auto special = spec_.row_when.find(rows[i]->outcome);
      const Template& text = special == spec_.row_when.end() ? *spec_.row : special->second;
      if (!text.empty() || special == spec_.row_when.end()) add_text(row_text(text, *rows[i], i));
    }
  }

  std::string row_text(const Template& text, const GridRow& row, std::size_t number) const {
    return text.render([&](const Template::Field& field) -> std::string {
      if (field.name == "index") return format_number(static_cast<double>(number), field.spec);
      if (field.name.rfind("each.", 0) == 0) return each_text(field.name.substr(5), row);
      return field_text(records_, grid_, row, field, spec_.grid.cells, true);
    });
  }

  std::string each_text(const std::string& name, const GridRow& row) const {
    for (const EachGrid& built : each_) {
      if (built.each->name != name) continue;
      const auto found = built.rows.find(row.key);
      if (found == built.rows.end()) return "";
      std::vector<std::string> items;
      for (const GridRow* inner : found->second) {
        items.push_back(built.each->row.render([&](const Template::Field& field) {
          return field_text(records_, built.grid, *inner, field, spec_.grid.cells, true);
        }));
      }
      return join(items, built.each->separator);
    }
    return "";
  }

  const Records& records_;
  const TextSpec& spec_;
  Grid grid_;
  std::vector<EachGrid> each_;
  std::vector<std::string> lines_;
};

}  // namespace

Result<std::vector<Section>> text_sections(const Records& records, TextSpec spec) {
  default_rows(records, spec.grid);
  auto repeats = combinations(records, spec.for_each, spec.grid.where);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    if (!spec.title.empty()) sections.push_back(Heading{3, render_title(spec.title, combination)});
    if (!spec.grid.centre_note.empty()) sections.push_back(Paragraph{spec.grid.centre_note});
    if (auto done = TextBlock(records, spec).render(combination, sections); !done) {
      return tl::unexpected(done.error());
    }
  }
  return sections;
}

}  // namespace assay::report
