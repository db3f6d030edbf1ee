#include "yaml/recorder.h"

#include <fmt/format.h>
#include <yaml-cpp/mark.h>

#include <algorithm>

#include "base/text.h"

namespace assay::yaml {

Columns::Columns(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (true) {
    const std::size_t end = text.find('\n');
    lines_.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (lines_.size() > 1 && lines_.back().empty()) lines_.pop_back();
  last_column_ = static_cast<int>(display_width(lines_.back())) + 1;
}

int Columns::at(int line, int byte) {
  if (line < 0 || static_cast<std::size_t>(line) >= lines_.size()) return byte + 1;
  if (line != line_ || byte < byte_) {
    line_ = line;
    byte_ = 0;
    column_ = 1;
  }
  const std::string_view text = lines_[static_cast<std::size_t>(line)];
  for (; byte_ < byte; ++byte_) {
    const auto index = static_cast<std::size_t>(byte_);
    const bool continuation =
        index < text.size() && (static_cast<unsigned char>(text[index]) & 0xC0) == 0x80;
    if (!continuation) ++column_;
  }
  return column_;
}

bool Columns::indented_with_tab(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > lines_.size()) return false;
  const std::string_view text = lines_[static_cast<std::size_t>(line) - 1];
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '\t';
}

Recorder::Recorder(std::string_view text, const std::string& file_name, const Limits& limits)
    : columns_(text), file_name_(file_name), limits_(limits) {}

SourceLocation Recorder::location(const YAML::Mark& mark) {
  SourceLocation where{file_name_, mark.line + 1, columns_.at(mark.line, mark.column)};
  // The end of the input belongs to the last line.
  if (where.line > columns_.last_line()) {
    where.line = columns_.last_line();
    where.column = columns_.last_column();
  }
  return where;
}

void Recorder::refuse(const YAML::Mark& mark, std::string message, std::string hint) {
  throw Refusal{{location(mark), std::move(message), std::move(hint)}};
}

void Recorder::OnDocumentStart(const YAML::Mark& mark) {
  if (seen_document_) {
    refuse(mark, "a second document starts here", "a file holds one document");
  }
  seen_document_ = true;
}

void Recorder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  add_leaf(mark, Event::Kind::null, {}, false, anchor);
}

void Recorder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                        const std::string& value) {
  constexpr std::string_view text_tag = "tag:yaml.org,2002:str";
  // yaml-cpp marks a quoted or block scalar without a tag by "!".
  if (tag != "!" && tag != text_tag) check_tag(mark, tag);
  const bool quoted = tag == "!" || tag == text_tag;
  add_leaf(mark, Event::Kind::scalar, value, quoted, anchor);
}

void Recorder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                               YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  check_tag(mark, tag);
  open(mark, Event::Kind::sequence_start, anchor);
}

void Recorder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                          YAML::EmitterStyle::value) {
  check_tag(mark, tag);
  open(mark, Event::Kind::mapping_start, anchor);
}

void Recorder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end() || found->second.end == 0) {
    refuse(mark, "an alias stands inside the value it refers to");
  }
  const Span span = found->second;
  count(mark, span.nodes, span.bytes);
  if (open_.size() + span.depth > limits_.depth) {
    refuse(mark, fmt::format("nested more than {} levels deep", limits_.depth));
  }
  if (!open_.empty()) open_.back().depth = std::max(open_.back().depth, span.depth);
  for (std::size_t i = span.begin; i < span.end; ++i) {
    Event copy = events_[i];  // push_back may move the vector
    events_.push_back(std::move(copy));
  }
  // The value gets the place of the alias; its parts keep theirs.
  Event& first = events_[events_.size() - (span.end - span.begin)];
  const SourceLocation where = location(mark);
  first.line = where.line;
  first.column = where.column;
}

void Recorder::check_tag(const YAML::Mark& mark, const std::string& tag) {
  if (tag.empty() || tag == "?") return;
  refuse(mark, fmt::format("the tag '{}' means nothing here", tag), "leave it out");
}

void Recorder::count(const YAML::Mark& mark, std::size_t nodes, std::size_t bytes) {
  nodes_ += nodes;
  bytes_ += bytes;
  if (nodes_ > limits_.nodes) {
    refuse(mark, fmt::format("more than {} values, with aliases expanded", limits_.nodes));
  }
  if (bytes_ > limits_.bytes) {
    refuse(mark, fmt::format("more than {} bytes of text, with aliases expanded", limits_.bytes));
  }
}

void Recorder::add(const YAML::Mark& mark, Event::Kind kind, const std::string& text, bool quoted) {
  count(mark, 1, text.size());
  const SourceLocation where = location(mark);
  events_.push_back({kind, quoted, text, where.line, where.column});
}

void Recorder::add_leaf(const YAML::Mark& mark, Event::Kind kind, const std::string& text,
                        bool quoted, YAML::anchor_t anchor) {
  add(mark, kind, text, quoted);
  if (anchor != YAML::NullAnchor) {
    anchors_[anchor] = {events_.size() - 1, events_.size(), 1, text.size(), 0};
  }
}

void Recorder::open(const YAML::Mark& mark, Event::Kind kind, YAML::anchor_t anchor) {
  if (open_.size() >= limits_.depth) {
    refuse(mark, fmt::format("nested more than {} levels deep", limits_.depth));
  }
  open_.push_back({anchor, events_.size(), nodes_, bytes_, 0});
  if (anchor != YAML::NullAnchor) anchors_[anchor] = {};
  add(mark, kind, {}, false);
}

void Recorder::close() {
  events_.push_back({Event::Kind::end});
  const Open closed = open_.back();
  open_.pop_back();
  const std::size_t depth = closed.depth + 1;
  if (!open_.empty()) open_.back().depth = std::max(open_.back().depth, depth);
  if (closed.anchor != YAML::NullAnchor) {
    anchors_[closed.anchor] = {closed.begin, events_.size(), nodes_ - closed.nodes_before,
                               bytes_ - closed.bytes_before, depth};
  }
}

}  // namespace assay::yaml
