#include "run/launch/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/shell_command.h"
#include "base/text.h"
#include "config/presets.h"

namespace assay::run {

namespace {

class LauncherReader {
 public:
  explicit LauncherReader(Launcher& launcher) : launcher_(launcher) {}

  Result<void> read(const yaml::Node& root) {
    for (const auto& [key, value] : root.entries) entry(key, value);
    if (error_.diagnostics.empty() && launcher_.each_rank && launcher_.command.empty()) {
      wrong(root, "`each: rank` needs a command");
    }
    if (error_.diagnostics.empty() && !launcher_.remote.empty() && launcher_.command.empty()) {
      wrong(root, "`remote` needs a command that takes it to another machine");
    }
    if (error_.diagnostics.empty()) return {};
    return tl::unexpected(std::move(error_));
  }

 private:
  void entry(const yaml::Node& key, const yaml::Node& value) {
    const std::string& name = key.text;
    if (name == "description") return text(value, launcher_.description);
    if (name == "script") return text(value, launcher_.script);
    if (name == "allocated") return text(value, launcher_.allocated);
    if (name == "nodes") return text(value, launcher_.nodes);
    if (name == "ranks") return text(value, launcher_.ranks);
    if (name == "each") return choice(value, "rank", "job", launcher_.each_rank);
    if (name == "secret") return choice(value, "input", "environment", launcher_.secret_by_input);
    if (name == "command") return groups(value, launcher_.command);
    if (name == "remote") return groups(value, launcher_.remote);
    wrong(key, fmt::format("a launcher has no key '{}'{}", name,
                           suggestion(name, {"description", "command", "remote", "each", "secret",
                                             "allocated", "nodes", "ranks", "script"})));
  }

  void groups(const yaml::Node& node, std::vector<std::vector<std::string>>& into) {
    for (const yaml::Node& group : node.one_or_more()) {
      auto& words = into.emplace_back();
      for (const yaml::Node& word : group.one_or_more()) text(word, words.emplace_back());
    }
  }

  void text(const yaml::Node& node, std::string& into) {
    if (!node.is_scalar()) return wrong(node, "a text is expected here");
    into = node.text;
  }

  void choice(const yaml::Node& node, const char* yes, const char* no, bool& into) {
    if (node.text != yes && node.text != no) {
      return wrong(node, fmt::format("'{}' is neither {} nor {}", node.text, no, yes));
    }
    into = node.text == yes;
  }

  void wrong(const yaml::Node& node, std::string what) {
    error_.diagnostics.push_back({node.where, std::move(what), {}});
  }

  Launcher& launcher_;
  Error error_;
};

bool is_variable(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char letter) {
    return std::isupper(letter) != 0 || std::isdigit(letter) != 0 || letter == '_';
  });
}

Result<std::vector<std::string>> words_of(const std::vector<std::vector<std::string>>& groups,
                                          const std::map<std::string, std::string>& names,
                                          const Variables& variables) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& group : groups) {
    std::vector<std::string> words;
    bool complete = true;
    for (const std::string& word : group) {
      auto filled = filled_in(word, names, variables);
      if (!filled) return tl::unexpected(filled.error());
      complete = complete && !filled->empty();
      words.push_back(std::move(*filled));
    }
    if (complete) all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

}  // namespace

bool Launcher::uses(const std::string& placeholder) const {
  const std::string text = "{" + placeholder + "}";
  const auto has = [&](const std::string& word) { return word.find(text) != std::string::npos; };
  const auto have = [&](const std::vector<std::string>& group) {
    return std::any_of(group.begin(), group.end(), has);
  };
  return std::any_of(command.begin(), command.end(), have) ||
         std::any_of(remote.begin(), remote.end(), have) || has(script);
}

Result<Launcher> read_launcher(const std::filesystem::path& configs, const std::string& name) {
  const auto root = config::Presets(configs, std::filesystem::path()).read("launchers", name);
  if (!root) return tl::unexpected(root.error());
  Launcher launcher;
  launcher.name = std::filesystem::path(name).stem().string();
  launcher.file = name;
  if (auto read = LauncherReader(launcher).read(*root); !read) return tl::unexpected(read.error());
  return launcher;
}

Result<std::string> filled_in(const std::string& text,
                              const std::map<std::string, std::string>& names,
                              const Variables& variables) {
  std::string filled;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t end = text[place] == '{' ? text.find('}', place) : std::string::npos;
    const std::string name =
        end == std::string::npos ? "" : text.substr(place + 1, end - place - 1);
    const bool shell = place > 0 && text[place - 1] == '$';  // ${NAME} of a script
    if (name.empty() || shell || name.find_first_of(" \n\"'") != std::string::npos) {
      filled += text[place++];
      continue;
    }
    place = end + 1;
    if (const auto known = names.find(name); known != names.end()) {
      filled += known->second;
    } else if (const auto value = is_variable(name) ? variables(name.c_str()) : std::nullopt) {
      filled += *value;
    } else {
      std::vector<std::string> all;
      for (const auto& [other, unused] : names) all.push_back(other);
      return fail(ExitCode::bad_input,
                  is_variable(name)
                      ? fmt::format("the launcher needs the environment variable {}", name)
                      : fmt::format("a launcher knows no {{{}}}{}", name, suggestion(name, all)));
    }
  }
  return filled;
}

Result<std::vector<std::string>> command_of(const Launcher& launcher,
                                            const std::map<std::string, std::string>& names,
                                            const Variables& variables) {
  auto command = words_of(launcher.command, names, variables);
  if (!command || launcher.remote.empty()) return command;
  const auto remote = words_of(launcher.remote, names, variables);
  if (!remote) return remote;
  command->push_back(shell_command(*remote));
  return command;
}

}  // namespace assay::run
