#include "families.h"

#include <cctype>

namespace assay::kernels {

namespace {

// From `open`, just behind it, to its partner.
std::size_t closing(std::string_view text, std::size_t open, char opener, char closer) {
  int depth = 1;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opener) ++depth;
    if (text[i] == closer && --depth == 0) return i;
  }
  return text.size();
}

// Where "_128x64" or "tilesize128x128" begins; the end where there is none.
std::size_t tile(std::string_view name) {
  const auto digit = [&](std::size_t i) {
    return i < name.size() && std::isdigit(static_cast<unsigned char>(name[i]));
  };
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i] != 'x' || !digit(i - 1) || !digit(i + 1)) continue;
    std::size_t begin = i;
    while (begin > 0 && digit(begin - 1)) --begin;
    constexpr std::string_view word = "tilesize";
    if (name.substr(0, begin).ends_with(word)) begin -= word.size();
    return begin;
  }
  return name.size();
}

}  // namespace

std::string family_of(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  // cutlass::Kernel2<name> says what it is inside.
  if (kernel.starts_with("cutlass::Kernel")) {
    const std::size_t open = kernel.find('<');
    if (open != std::string_view::npos) {
      return family_of(kernel.substr(open + 1, closing(kernel, open + 1, '<', '>') - open - 1));
    }
  }
  std::string plain;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (kernel.substr(i).starts_with("(anonymous namespace)")) {
      i += 20;
      continue;
    }
    if (kernel[i] == '(') break;
    if (kernel[i] == '<') {
      i = closing(kernel, i + 1, '<', '>');
      continue;
    }
    plain += kernel[i];
  }
  // A demangled function may begin with its result's type.
  if (const auto space = plain.rfind(' ');
      space != std::string::npos && kernel.find("::") != std::string_view::npos) {
    plain = plain.substr(space + 1);
  }
  if (const auto at = plain.rfind("::"); at != std::string::npos) plain = plain.substr(at + 2);
  std::string_view family = std::string_view(plain).substr(0, tile(plain));
  while (family.ends_with('_') && family.size() > 1) family.remove_suffix(1);
  return family.empty() ? std::string(kernel) : std::string(family);
}

}  // namespace assay::kernels
