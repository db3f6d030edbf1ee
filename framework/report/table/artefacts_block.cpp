#include "report/table/artefacts_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "report/table/pivot.h"

namespace assay::report {
namespace {

constexpr std::size_t shown_digits = 12;  // of a hash

struct FoundFile {
  std::uint32_t record;  // one of its case
  const store::Artefact* artefact;
};

bool wants_media_type(const ArtefactsSpec& spec, const std::string& media_type) {
  if (spec.media_types.empty()) return true;
  return std::any_of(spec.media_types.begin(), spec.media_types.end(), [&](const auto& wanted) {
    if (!wanted.ends_with('*')) return wanted == media_type;
    return media_type.starts_with(wanted.substr(0, wanted.size() - 1));
  });
}

// The files of the records' cases, of the passes and ranks among the records.
std::vector<FoundFile> files_of(const Records& records, const RecordIds& ids,
                                const ArtefactsSpec& spec) {
  std::vector<FoundFile> files;
  std::map<const store::CaseResult*, std::pair<std::uint32_t, std::set<std::string>>> cases;
  std::vector<const store::CaseResult*> order;
  for (const std::uint32_t id : ids) {
    const store::CaseResult* result = records[id].result;
    const auto [at, added] = cases.try_emplace(result, id, std::set<std::string>());
    if (added) order.push_back(result);
    at->second.second.insert(records[id].series->pass);
  }
  for (const store::CaseResult* result : order) {
    const auto& [id, passes] = cases.at(result);
    for (const store::Artefact& artefact : result->artefacts) {
      const bool of_pass = artefact.pass.empty() || passes.contains(artefact.pass);
      if (of_pass && wants_media_type(spec, artefact.media_type)) files.push_back({id, &artefact});
    }
  }
  return files;
}

std::string percent_encoded(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return text;
}

// "": the file is not there.
std::string link_to(const store::Artefact& artefact, const std::string& run,
                    const ArtefactPlaces& places) {
  if (places.results.empty() || artefact.file.empty()) return {};
  const std::filesystem::path file = places.results / run / artefact.file;
  std::error_code problem;
  if (std::filesystem::symlink_status(file, problem).type() != std::filesystem::file_type::regular)
    return {};
  const auto bytes = std::filesystem::file_size(file, problem);
  if (problem || bytes != static_cast<std::uintmax_t>(artefact.bytes)) return {};
  const auto relative =
      std::filesystem::relative(file, places.report.empty() ? "." : places.report, problem);
  return problem || relative.empty() ? std::string() : percent_encoded(relative.generic_string());
}

std::string name_cell(const store::Artefact& artefact, const std::string& run,
                      const ArtefactPlaces& places) {
  const std::string link = link_to(artefact, run, places);
  if (link.empty()) return artefact.name + " (not here)";
  return fmt::format("[{}]({})", artefact.name, link);
}

// The axes on which the files' cases differ, besides those of the combination.
std::vector<std::size_t> axes_of(const Records& records, const std::vector<FoundFile>& files,
                                 const Filter& combination) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < records.first_derived(); ++axis) {
    const bool of_series = axis == pass_axis || axis == part_axis || axis == rank_axis;
    if (of_series || axis == run_axis || combination.on(records.axes()[axis].name)) continue;
    const bool differ = std::any_of(files.begin(), files.end(), [&](const FoundFile& file) {
      return records.code(file.record, axis) != records.code(files.front().record, axis);
    });
    if (differ) axes.push_back(axis);
  }
  return axes;
}

TableSection table_of(const Records& records, const std::vector<FoundFile>& files,
                      const Filter& combination, const ArtefactPlaces& places) {
  TableSection table;
  for (const std::size_t axis : axes_of(records, files, combination)) {
    TableColumn& column = table.columns.emplace_back();
    column.name = records.axes()[axis].name;
    for (const FoundFile& file : files) {
      column.cells.push_back(to_text(records.value(file.record, axis)));
    }
  }
  const auto add = [&](const std::string& name, const auto& cell_of) {
    TableColumn& column = table.columns.emplace_back();
    column.name = name;
    for (const FoundFile& file : files) column.cells.push_back(cell_of(file));
  };
  const auto differs = [&](const auto& value_of) {
    return std::any_of(files.begin(), files.end(), [&](const FoundFile& file) {
      return value_of(*file.artefact) != value_of(*files.front().artefact);
    });
  };
  if (differs([](const store::Artefact& artefact) { return artefact.pass; })) {
    add("pass", [](const FoundFile& file) { return file.artefact->pass; });
  }
  if (differs([](const store::Artefact& artefact) { return artefact.rank; })) {
    add("rank", [](const FoundFile& file) { return std::to_string(file.artefact->rank); });
  }
  add("file", [&](const FoundFile& file) {
    const auto& run = records.axes()[run_axis].values[records.code(file.record, run_axis)];
    return name_cell(*file.artefact, to_text(run), places);
  });
  add("type", [](const FoundFile& file) { return file.artefact->media_type; });
  add("size", [](const FoundFile& file) { return human_size(file.artefact->bytes); });
  add("SHA-256",
      [](const FoundFile& file) { return file.artefact->sha256.substr(0, shown_digits); });
  return table;
}

}  // namespace

Result<std::vector<Section>> artefact_sections(const Records& records, const ArtefactsSpec& spec,
                                               const ArtefactPlaces& places) {
  auto repeats = combinations(records, spec.for_each, spec.where);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    const auto ids = select_both(records, spec.where, combination);
    if (!ids) return tl::unexpected(ids.error());
    const std::vector<FoundFile> files = files_of(records, *ids, spec);
    if (files.empty()) continue;
    if (!spec.title.empty()) sections.push_back(Heading{3, render_title(spec.title, combination)});
    sections.push_back(table_of(records, files, combination, places));
  }
  if (sections.empty()) sections.push_back(Paragraph{"The chosen cases have left no files."});
  return sections;
}

}  // namespace assay::report
