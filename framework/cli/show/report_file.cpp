#include "cli/show/report_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "store/exchange/gzip.h"
#include "store/exchange/import.h"

namespace assay::cli {

namespace {

constexpr const char* own_report = "report.md";
constexpr std::size_t longest_name = 120;  // of what is shown; file systems allow 255 bytes
constexpr std::size_t digest_digits = 8;

std::string digest(const std::vector<std::string>& parts) {
  return sha256_hex(join(parts, "\n")).substr(0, digest_digits);
}

// A file's name without folder and endings.
std::string plain_run_name(const std::string& run) {
  if (!store::is_run_file(run)) return run;
  return std::filesystem::path(store::plain_name(run)).stem().string();
}

// "-model_totals-with-toy-2": what tells the report from the run's own; "" of that.
std::string difference(const ReportRequest& request) {
  std::string name;
  if (request.layout) name += "-" + std::filesystem::path(*request.layout).stem().string();
  if (request.runs.size() > 1) {
    for (std::size_t i = 1; i < request.runs.size(); ++i) {
      name += (i == 1 ? "-with-" : "-") + plain_run_name(request.runs[i]);
    }
  }
  if (!request.only.empty()) name += "-only-" + join(request.only, "-");
  if (!request.filters.empty()) name += "-filter-" + digest(request.filters);
  if (!request.ceilings.empty()) name += "-ceilings-" + digest(request.ceilings);
  return name.size() > longest_name ? "-" + digest({name}) : name;
}

std::string picture_prefix(const std::filesystem::path& document) {
  if (document.filename() == own_report) return "";
  const bool markdown = document.extension() == ".md";
  return (markdown ? document.stem() : document.filename()).string() + "-";
}

}  // namespace

Result<ReportFile> report_file(const std::filesystem::path& results, const ReportRequest& request) {
  ReportFile file;
  if (!request.output) {
    const std::string other = difference(request);
    const std::string& first = request.runs.front();
    if (store::is_run_file(first)) {
      std::filesystem::path beside = store::plain_name(first);
      file.path = beside.replace_extension().string() + other + ".md";
    } else {
      file.own = other.empty();
      file.path = results / first / ("report" + other + ".md");
    }
  } else if (*request.output != "-") {
    file.path = *request.output;
    std::string extension = file.path.extension().string();
    std::ranges::transform(extension, extension.begin(),
                           [](unsigned char c) { return std::tolower(c); });
    if (extension == ".html" || extension == ".htm" || extension == ".pdf") {
      return fail(ExitCode::bad_input,
                  fmt::format("--output {}: a report is written as Markdown, not as {}",
                              *request.output, extension.substr(1)),
                  "name a file that ends in .md, or `-` for standard output");
    }
  }
  file.picture_prefix = picture_prefix(file.path);
  return file;
}

}  // namespace assay::cli
