#include "catalogue/names.h"

#include <algorithm>
#include <cctype>

namespace assay::catalogue {

bool is_plugin_name(std::string_view name) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-';
  };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::ranges::all_of(name, plain);
}

}  // namespace assay::catalogue
