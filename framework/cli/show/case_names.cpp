#include "cli/show/case_names.h"

#include <map>
#include <set>

namespace assay::cli {

CaseNames case_names(const std::vector<const store::CaseResult*>& cases) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (const store::CaseResult* result : cases) {
    for (const auto& [name, value] : result->parameters) {
      values[name].insert(to_text(value));
      ++counts[name];
    }
  }
  CaseNames names;
  for (const auto& [name, texts] : values) {
    const bool varies = texts.size() > 1 || counts[name] < cases.size();
    if (varies) {
      names.varying.push_back(name);
    } else {
      names.shared.push_back(name + "=" + *texts.begin());
    }
  }
  return names;
}

}  // namespace assay::cli
