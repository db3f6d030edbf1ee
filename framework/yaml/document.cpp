#include "yaml/document.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "base/utf8.h"
#include "yaml/recorder.h"

namespace assay::yaml {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F;
}

Result<void> check_text(std::string_view text, const std::string& file_name) {
  SourceLocation where{file_name, 1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(i));
    if (length == 0) return fail_at(where, "not UTF-8 text");
    if (is_control(text[i])) {
      return fail_at(where, fmt::format("a control character (0x{:02X})",
                                        static_cast<unsigned char>(text[i])));
    }
    ++where.column;
    if (text[i] == '\n') where = {file_name, where.line + 1, 1};
    i += length;
  }
  return {};
}

// The nesting of `events` is within the limits.
class Builder {
 public:
  Builder(const std::vector<Event>& events, const std::string& file_name)
      : events_(events), file_name_(file_name) {}

  Node build() {
    const Event& event = events_[next_++];
    Node node;
    node.where = {file_name_, event.line, event.column};
    if (event.kind == Event::Kind::scalar) {
      node.kind = Node::Kind::scalar;
      node.text = event.text;
      node.quoted = event.quoted;
    } else if (event.kind == Event::Kind::sequence_start) {
      node.kind = Node::Kind::sequence;
      while (!at_end()) node.items.push_back(build());
      ++next_;
    } else if (event.kind == Event::Kind::mapping_start) {
      node.kind = Node::Kind::mapping;
      build_entries(node);
      ++next_;
    }
    return node;
  }

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  bool at_end() const { return events_[next_].kind == Event::Kind::end; }

  void build_entries(Node& mapping) {
    std::unordered_map<std::string, SourceLocation> seen;
    while (!at_end()) {
      Node key = build();
      Node value = build();
      if (!key.is_scalar()) {
        diagnostics_.push_back({key.where, "a key must be a name", "quote it to make it one"});
        continue;
      }
      if (key.text == "<<" && !key.quoted) {
        diagnostics_.push_back({key.where, "merge keys ('<<') are not supported",
                                "write the entries out, or alias whole values"});
        continue;
      }
      const auto [first, inserted] = seen.try_emplace(key.text, key.where);
      if (!inserted) {
        diagnostics_.push_back(
            {key.where, fmt::format("the key '{}' is given twice", key.text),
             fmt::format("first at line {}, column {}", first->second.line, first->second.column)});
        continue;
      }
      mapping.entries.push_back({std::move(key), std::move(value)});
    }
  }

  const std::vector<Event>& events_;
  const std::string& file_name_;
  std::size_t next_ = 0;
  std::vector<Diagnostic> diagnostics_;
};

struct Explanation {
  std::string_view message;
  std::string_view hint;
};

Explanation explain(const std::string& message) {
  static const std::unordered_map<std::string_view, Explanation> explanations = {
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, {"a '[' is not closed", "add ']' or a missing comma"}},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, {"a '{' is not closed", "add '}' or a missing comma"}},
      {YAML::ErrorMsg::FLOW_END,
       {"this ']' or '}' closes nothing, or not what was opened last", ""}},
      {YAML::ErrorMsg::MAP_VALUE,
       {"a ':' cannot stand here", "check the indentation, or quote the text"}},
      {YAML::ErrorMsg::MAP_KEY, {"a key cannot stand here", "check the indentation"}},
      {YAML::ErrorMsg::BLOCK_ENTRY, {"a '-' cannot stand here", "check the indentation"}},
      {YAML::ErrorMsg::END_OF_MAP,
       {"neither a 'key: value' nor the end of the mapping", "check the indentation"}},
      {YAML::ErrorMsg::END_OF_SEQ,
       {"neither a '- value' nor the end of the list", "check the indentation"}},
      {YAML::ErrorMsg::EOF_IN_SCALAR, {"a quoted text is not closed", ""}},
      {YAML::ErrorMsg::DOC_IN_SCALAR, {"a quoted text is not closed", ""}},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, {"an alias refers to an anchor that is not defined", ""}},
  };
  const auto found = explanations.find(message);
  return found == explanations.end() ? Explanation{message, ""} : found->second;
}

Diagnostic syntax_error(const YAML::Exception& error, const std::string& file_name,
                        Recorder& recorder) {
  if (error.mark.is_null()) return {{file_name}, "not valid YAML: " + error.msg, {}};
  const SourceLocation where = recorder.location(error.mark);
  if (recorder.indented_with_tab(where.line)) {
    return {where, "not valid YAML: this line is indented with a tab", "indent with spaces"};
  }
  const auto [message, hint] = explain(error.msg);
  return {where, fmt::format("not valid YAML: {}", message), std::string(hint)};
}

Result<void> record(std::string_view text, const std::string& file_name, Recorder& recorder) {
  // yaml-cpp refuses an unclosed quoted text only before an end of document.
  std::string closed(text);
  closed += text.ends_with('\n') ? "...\n" : "\n...\n";
  try {
    std::istringstream stream{closed};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(recorder)) {
    }
    return {};
  } catch (const Refusal& refusal) {
    return tl::unexpected(Error{ExitCode::bad_input, {refusal.diagnostic}});
  } catch (const YAML::Exception& error) {
    return tl::unexpected(Error{ExitCode::bad_input, {syntax_error(error, file_name, recorder)}});
  } catch (const std::exception& error) {
    return fail_at({file_name}, fmt::format("cannot be read as YAML: {}", error.what()));
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

std::span<const Node> Node::one_or_more() const {
  return is_sequence() ? std::span<const Node>(items) : std::span<const Node>(this, 1);
}

Result<Document> read(std::string_view text, const std::string& file_name, const Limits& limits) {
  if (text.size() > limits.bytes) {
    return fail_at({file_name}, fmt::format("larger than {}", human_size(limits.bytes)));
  }
  if (auto checked = check_text(text, file_name); !checked) return tl::unexpected(checked.error());
  Recorder recorder(text, file_name, limits);
  if (auto recorded = record(text, file_name, recorder); !recorded) {
    return tl::unexpected(recorded.error());
  }
  if (recorder.events().empty() || recorder.events()[0].kind == Event::Kind::null) {
    Node nothing;
    nothing.where = {file_name, 1, 1};
    return Document{std::move(nothing), {}};
  }
  Builder builder(recorder.events(), file_name);
  Node root = builder.build();
  return Document{std::move(root), builder.diagnostics()};
}

Result<Node> parse(std::string_view text, const std::string& file_name, const Limits& limits) {
  auto document = read(text, file_name, limits);
  if (!document) return tl::unexpected(document.error());
  if (!document->mistakes.empty()) {
    return tl::unexpected(Error{ExitCode::bad_input, std::move(document->mistakes)});
  }
  return std::move(document->root);
}

Result<Node> parse_file(const std::string& path, const Limits& limits) {
  const auto text = read_file(path, limits.bytes);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path, limits);
}

std::map<std::string, std::filesystem::path> documents_below(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() != ".yaml") continue;
    const auto [known, added] = files.emplace(path.stem().string(), path);
    if (!added) known->second = std::min(known->second, path);
  }
  return files;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay::yaml
