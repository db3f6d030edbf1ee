#include "store/exchange/import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/text.h"
#include "store/exchange/gzip.h"
#include "store/exchange/import_formats.h"

namespace assay::store {
namespace {

constexpr std::size_t problems_shown = 20;

Result<std::string> read_limited(const std::filesystem::path& path, std::size_t limit) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    return fail_at({path.string()}, "this is a folder", "name a JSON Lines or CSV file");
  }
  const auto too_long = [&] {
    return fail_at({path.string()}, fmt::format("the file is longer than {} bytes", limit),
                   "split it, or raise the limit");
  };
  if (::access(path.c_str(), R_OK) != 0)
    return fail_at({path.string()}, "the file cannot be opened", "is it there and readable?");
  // A pipe has no size.
  const auto size = std::filesystem::file_size(path, problem);
  if (!problem && size > limit) return too_long();
  Result<std::string> text = read_file(path.string(), limit);
  if (!text) return fail_at({path.string()}, text.error().diagnostics.front().message);
  return text;
}

void check_lines(std::string_view text, std::size_t limit, Problems& problems) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > limit) {
      problems.add(line, 1, fmt::format("the line has {} bytes, more than {}", end, limit),
                   "is this a results file? otherwise raise the limit");
    }
    if (const std::size_t zero = text.substr(0, end).find('\0'); zero != std::string_view::npos) {
      problems.add(line, static_cast<int>(zero) + 1, "a zero byte: this is not UTF-8 text",
                   "save it as UTF-8");
      return;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
}

bool is_json_lines(std::string_view text, const std::string& file_name) {
  const std::string extension = std::filesystem::path(file_name).extension().string();
  if (extension == ".jsonl" || extension == ".ndjson") return true;
  return extension != ".csv" && trim(text).substr(0, 1) == "{";
}

}  // namespace

void Problems::add(int line, int column, std::string message, std::string hint) {
  if (++count_ > problems_shown) return;
  error_.diagnostics.push_back({{file_, line, column}, std::move(message), std::move(hint)});
}

void Problems::add(int line, int column, const Error& error) {
  for (const Diagnostic& diagnostic : error.diagnostics) {
    const int known_column = diagnostic.where.column > 0 ? diagnostic.where.column : column;
    add(line, known_column, diagnostic.message, diagnostic.hint);
  }
}

Error Problems::error() const {
  Error error = error_;
  if (count_ > problems_shown) {
    error.diagnostics.push_back(
        {{file_}, fmt::format("and {} more like these", count_ - problems_shown), {}});
  }
  return error;
}

void drop_computed_statistics(std::map<std::string, double>& statistics) {
  for (const std::string_view name : computed_statistics) statistics.erase(std::string(name));
  statistics.erase("autocorrelation");
  statistics.erase("drift");
}

bool is_run_file(std::string_view name) {
  const std::string plain = plain_name(name).string();
  return plain.ends_with(".jsonl") || plain.ends_with(".ndjson") || plain.ends_with(".csv");
}

Result<Run> import_file(const std::filesystem::path& path, const ImportOptions& options) {
  const Result<std::string> text = read_limited(path, options.file_bytes);
  if (!text) return tl::unexpected(text.error());
  if (!is_gzip(*text)) return import_text(*text, path.string(), options);
  Result<std::string> unpacked = gunzip(*text, options.file_bytes);
  if (!unpacked) {
    const Diagnostic& why = unpacked.error().diagnostics.front();
    return fail_at({path.string()}, why.message, why.hint);
  }
  return import_text(*unpacked, plain_name(path).string(), options);
}

Result<Run> import_text(std::string_view text, const std::string& file_name,
                        const ImportOptions& options) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) {
    text.remove_prefix(byte_order_mark.size());
  }
  if (trim(text).empty()) return fail_at({file_name}, "the file is empty");
  Problems problems(file_name);
  check_lines(text, options.line_bytes, problems);
  if (!problems.none()) return tl::unexpected(problems.error());
  return is_json_lines(text, file_name) ? import_json_lines(text, file_name, options)
                                        : import_csv(text, file_name, options);
}

}  // namespace assay::store
