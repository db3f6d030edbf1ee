#pragma once

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/document.h"

namespace assay::yaml {

// A broken limit or rule, thrown through yaml-cpp's parser.
struct Refusal {
  Diagnostic diagnostic;
};

// One step of a document with aliases expanded.
struct Event {
  enum class Kind { null, scalar, sequence_start, mapping_start, end };
  Kind kind;
  bool quoted = false;
  std::string text = {};
  int line = 0;    // from 1
  int column = 0;  // from 1, in code points
};

// Turns yaml-cpp's byte columns into columns of code points; fast for marks that advance.
class Columns {
 public:
  explicit Columns(std::string_view text);
  // `line` and `byte` from 0; the column from 1.
  int at(int line, int byte);
  // `line` from 1.
  bool indented_with_tab(int line) const;
  int last_line() const { return static_cast<int>(lines_.size()); }
  int last_column() const { return last_column_; }

 private:
  std::vector<std::string_view> lines_;
  int last_column_ = 1;
  int line_ = -1;
  int byte_ = 0;
  int column_ = 1;
};

// Records a document as a flat list of events. An alias is copied only within the limits.
class Recorder final : public YAML::EventHandler {
 public:
  Recorder(std::string_view text, const std::string& file_name, const Limits& limits);

  const std::vector<Event>& events() const { return events_; }
  SourceLocation location(const YAML::Mark& mark);
  bool indented_with_tab(int line) const { return columns_.indented_with_tab(line); }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { close(); }

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;  // 0 while the node is still open
    std::size_t nodes = 0;
    std::size_t bytes = 0;
    std::size_t depth = 0;  // levels of nesting inside it
  };
  struct Open {
    YAML::anchor_t anchor = 0;
    std::size_t begin = 0;
    std::size_t nodes_before = 0;
    std::size_t bytes_before = 0;
    std::size_t depth = 0;
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string message, std::string hint = {});
  void check_tag(const YAML::Mark& mark, const std::string& tag);
  void add(const YAML::Mark& mark, Event::Kind kind, const std::string& text, bool quoted);
  void add_leaf(const YAML::Mark& mark, Event::Kind kind, const std::string& text, bool quoted,
                YAML::anchor_t anchor);
  void open(const YAML::Mark& mark, Event::Kind kind, YAML::anchor_t anchor);
  void close();
  void count(const YAML::Mark& mark, std::size_t nodes, std::size_t bytes);

  Columns columns_;
  const std::string& file_name_;
  const Limits limits_;
  std::vector<Event> events_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Span> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  bool seen_document_ = false;
};

}  // namespace assay::yaml
