#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace assay::config {

// The value of a kind the workload uses and the experiment does not name; "" for no such kind.
std::string_view default_variant(std::string_view kind);

// What an experiment of one workload may name.
class Vocabulary {
 public:
  Vocabulary(const catalogue::Catalogue& catalogue, const catalogue::PluginInfo& workload)
      : catalogue_(catalogue), workload_(workload) {}

  // What a name means. For a parameter of the workload or of the host `info` says what it takes;
  // for an option ("attention.block_m") kind and option are its two parts.
  struct Meaning {
    enum class Sort { unknown, kind, parameter, option };
    Sort sort = Sort::unknown;
    const ParameterInfo* info = nullptr;
    std::string kind = {};
    std::string option = {};
  };
  Meaning find(std::string_view name) const;

  const catalogue::PluginInfo& workload() const { return workload_; }
  bool uses(std::string_view kind) const;
  // Plugins of the kind that can take part in the workload, sorted by name.
  std::vector<const catalogue::PluginInfo*> variants(std::string_view kind) const;
  const catalogue::PluginInfo* variant(std::string_view kind, std::string_view name) const;

  // Parameters of the workload, kinds it uses, the host's own; options only with `with_options`.
  std::vector<std::string> names(bool with_options) const;
  // Why `name` may not be named: "unknown name 'sq_len'; did you mean …".
  std::string objection(std::string_view name) const;
  // Why there is no such variant.
  std::string objection(std::string_view kind, std::string_view variant) const;

 private:
  const catalogue::Catalogue& catalogue_;
  const catalogue::PluginInfo& workload_;
};

const ParameterInfo* find_option(const catalogue::PluginInfo& plugin, std::string_view name);

}  // namespace assay::config
