#include "cli/complete/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "config/host_parameters.h"

namespace assay::cli {

namespace {

using Names = std::vector<std::string>;

void append(const Names& more, Names& names) {
  names.insert(names.end(), more.begin(), more.end());
}

Names kinds() { return {std::begin(catalogue::kinds), std::end(catalogue::kinds)}; }

Names with_prefix(const std::string& prefix, Names names) {
  for (std::string& name : names) name = prefix + name;
  return names;
}

Names variants(const Completion& known, const std::string& kind) {
  Names names;
  const auto catalogue = known.catalogue();
  if (!catalogue) return names;
  for (const auto* plugin : catalogue->of_kind(kind)) names.push_back(plugin->name);
  return names;
}

Names options_of(const Completion& known, const std::string& command) {
  static const std::regex option("--[a-z][a-z-]*");
  const std::string help = known.help(command);
  Names names{"--help"};
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    if (std::ranges::count(names, at->str()) == 0) names.push_back(at->str());
  }
  return names;
}

std::string as_flag(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// Parameters of the workload, options of the kind and settings, as `assay bench` takes them.
Names bench_flags(const Completion& known, const std::string& kind) {
  Names flags;
  const auto catalogue = known.catalogue();
  if (!catalogue) return flags;
  const auto* workload = catalogue->find("workload", kind);
  if (workload == nullptr) workload = catalogue->find("workload", "model_step");
  if (workload != nullptr) {
    for (const ParameterInfo& parameter : workload->parameters) {
      flags.push_back(as_flag(parameter.name));
    }
    for (const std::string& used : workload->uses) {
      if (used != kind) flags.push_back(as_flag(used));
    }
  }
  for (const auto* variant : catalogue->of_kind(kind)) {
    for (const ParameterInfo& option : variant->parameters) flags.push_back(as_flag(option.name));
  }
  constexpr std::string_view measure = "measure.";
  for (const ParameterInfo& parameter : config::host_parameters()) {
    const bool setting = parameter.name.starts_with(measure);
    flags.push_back(as_flag(setting ? parameter.name.substr(measure.size()) : parameter.name));
  }
  flags.emplace_back("--passes");
  return flags;
}

Names values_of(const Completion& known, const std::string& kind, const std::string& option) {
  const std::string name = option.substr(std::min<std::size_t>(2, option.size()));
  if (name == "resume" || name == "experiment-of" || name == "ceilings") return known.runs();
  if (name == "baseline") return known.baselines();
  if (name == "layout") return known.layouts();
  if (name == "device") return {"cpu", "cuda"};
  if (name == "workload") return variants(known, "workload");
  if (kind.empty()) return {};
  return catalogue::is_kind(name) ? variants(known, name)
         : name == "model"        ? known.models()
                                  : Names();
}

// KIND/NAME: first the kinds with their slash, then the names behind it.
Names plugins(const Completion& known, const std::string& written) {
  const std::size_t slash = written.find('/');
  if (slash == std::string::npos) {
    Names names = kinds();
    for (std::string& name : names) name += "/";
    return names;
  }
  const std::string kind = written.substr(0, slash);
  return with_prefix(kind + "/", variants(known, kind));
}

Names shown(const Completion& known, const std::string& written) {
  for (const auto& [kind, names] : {std::pair("experiment/", &known.experiments),
                                    {"layout/", &known.layouts},
                                    {"model/", &known.models}}) {
    if (written.starts_with(kind)) return with_prefix(kind, (*names)());
  }
  Names names = plugins(known, written);
  if (written.find('/') == std::string::npos) {
    append({"experiment/", "layout/", "model/"}, names);
    append(known.runs(), names);
  }
  return names;
}

Names positionals(const Completion& known, const std::string& command, const Names& before,
                  const std::string& written) {
  if (command == "run" || command == "plan") {
    return written.find_first_of("./") == std::string::npos ? known.experiments() : Names();
  }
  if (command == "report" || command == "export" || command == "rm" || command == "compare") {
    return known.runs();
  }
  if (command == "check" || command == "new") return plugins(known, written);
  if (command == "show") return shown(known, written);
  if (command == "list") {
    Names names = kinds();
    append({"plugins", "experiments", "layouts", "models", "runs", "baselines"}, names);
    return names;
  }
  if (command == "completion") return {"bash", "zsh", "fish"};
  if (command != "bench") return {};
  return before.empty() ? kinds() : variants(known, before.front());
}

}  // namespace

std::vector<std::string> candidates(const Completion& known, const std::vector<std::string>& words,
                                    std::size_t index) {
  const std::string written = index < words.size() ? words[index] : "";
  Names found;
  if (index <= 1) {
    found = known.commands;
    append({"--help", "--version"}, found);
  } else {
    const std::string& command = words[1];
    Names before;  // positional arguments; a word behind an option may be its value
    for (std::size_t i = 2; i < std::min(index, words.size()); ++i) {
      const bool value = i > 2 && words[i - 1].starts_with("--");
      if (!words[i].starts_with("--") && !value) before.push_back(words[i]);
    }
    const std::string kind = command == "bench" && !before.empty() ? before.front() : "";
    const std::string& previous = words[index - 1];
    if (written.starts_with("-")) {
      found = options_of(known, command);
      if (!kind.empty()) append(bench_flags(known, kind), found);
    } else if (previous.starts_with("--")) {
      found = values_of(known, kind, previous);
    } else {
      found = positionals(known, command, before, written);
    }
  }
  std::erase_if(found, [&](const std::string& each) { return !each.starts_with(written); });
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") {
    return R"(# source <(assay completion bash)
_assay() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" completion candidates "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null))
  [[ ${COMPREPLY-} == */ ]] && compopt -o nospace
}
complete -o default -F _assay assay
)";
  }
  if (shell == "zsh") {
    return R"(#compdef assay
# source <(assay completion zsh)
_assay() {
  local -a found
  found=("${(@f)$("${words[1]}" completion candidates $((CURRENT - 1)) "${words[@]}" 2>/dev/null)}")
  if [[ -n ${found[1]} ]]; then compadd -a found; else _files; fi
}
compdef _assay assay
)";
  }
  if (shell == "fish") {
    return R"(# assay completion fish | source
function __assay_candidates
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] completion candidates (math (count $words) - 1) $words 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c assay -f -a '(__assay_candidates)'
)";
  }
  return std::nullopt;
}

}  // namespace assay::cli
