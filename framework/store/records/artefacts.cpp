#include "store/records/artefacts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::store {
namespace {

constexpr std::size_t longest_artefact_name = 200;
constexpr std::size_t longest_pass = 100;
constexpr std::size_t key_digits = 12;

bool fits_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_digit_of_key(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

bool is_artefact_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_artefact_name && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), fits_a_name);
}

bool is_artefact_file(std::string_view file) {
  const std::vector<std::string> parts = split(std::string(file), '/');
  return std::all_of(parts.begin(), parts.end(),
                     [](const std::string& part) { return is_artefact_name(part); });
}

std::string artefact_file(std::string_view case_key, const Artefact& artefact) {
  std::string key(case_key.substr(0, key_digits));
  // An imported key may be any text.
  if (key.size() < key_digits || !std::all_of(key.begin(), key.end(), is_digit_of_key)) {
    key = sha256_hex(case_key).substr(0, key_digits);
  }
  std::string pass = artefact.pass.substr(0, longest_pass);
  std::replace_if(
      pass.begin(), pass.end(), [](char c) { return !fits_a_name(c); }, '_');
  if (pass.empty() || pass.front() == '.') pass.insert(0, "_");
  return fmt::format("{}/{}/{}/{}/{}", artefact_folder, key, pass, artefact.rank, artefact.name);
}

Mark artefact_not_kept(const Artefact& artefact, const std::string& why) {
  return {"artefact", artefact.pass, fmt::format("the file '{}' {}", artefact.name, why)};
}

std::string over_artefact_limit(std::int64_t bytes, std::int64_t left_bytes) {
  return fmt::format("has {}; the case's files on a rank may have {} more (measure.artefact_limit)",
                     human_size(bytes), human_size(std::max<std::int64_t>(0, left_bytes)));
}

}  // namespace assay::store
