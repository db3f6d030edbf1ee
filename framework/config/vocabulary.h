#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace assay::config {

// The variant of a kind that the experiment does not name; "" for an unknown kind.
std::string_view default_variant(std::string_view kind);

// The names that an experiment of one workload may use.
class Vocabulary {
 public:
  Vocabulary(const catalogue::Catalogue& catalogue, const catalogue::PluginInfo& workload)
      : catalogue_(catalogue), workload_(workload) {}

  struct Meaning {
    enum class Sort { unknown, kind, parameter, option };
    Sort sort = Sort::unknown;
    const ParameterInfo* info = nullptr;  // of a parameter
    std::string kind = {};                // of a kind or an option ("attention.block_m")
    std::string option = {};
  };
  Meaning find(std::string_view name) const;

  const catalogue::PluginInfo& workload() const { return workload_; }
  bool uses(std::string_view kind) const;
  // The kind's plugins for the workload, sorted by name.
  std::vector<const catalogue::PluginInfo*> variants(std::string_view kind) const;
  const catalogue::PluginInfo* variant(std::string_view kind, std::string_view name) const;

  // The workload's parameters, its kinds, their options if `with_options`, the host's parameters.
  std::vector<std::string> names(bool with_options) const;
  // Why `name` is refused: "unknown name 'sq_len'; did you mean …".
  std::string objection(std::string_view name) const;
  // Why the variant is refused.
  std::string objection(std::string_view kind, std::string_view variant) const;

 private:
  const catalogue::Catalogue& catalogue_;
  const catalogue::PluginInfo& workload_;
};

const ParameterInfo* find_option(const catalogue::PluginInfo& plugin, std::string_view name);

}  // namespace assay::config
