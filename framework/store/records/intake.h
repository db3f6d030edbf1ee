#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/records/records.h"

// What the host takes of a case. Its worker, another program or an import may send anything.
namespace assay::store {

inline constexpr std::string_view span_start_metric = "span_start";
inline constexpr std::string_view span_end_metric = "span_end";

inline constexpr std::size_t longest_name = 1024;  // bytes of a part, a lane, a word

// One line of UTF-8 text of at most `longest_name` bytes, without control characters.
bool is_one_line(std::string_view text);

// "has a part with a line break", "has a negative std, -1"; "" where the names, words and figures
// can be kept.
std::string what_is_wrong_with(const Series& series);

// Takes out each span whose end is not a number or lies before its beginning, and the beginnings
// without an end. Returns a sentence for each part and lane concerned; at most 20, the last of
// which counts the others.
std::vector<std::string> drop_bad_spans(std::vector<Series>& series);

// Takes one rank's series within limits: 21,000 without a clock, and 1,100,000 samples and words in
// them.
class SeriesIntake {
 public:
  explicit SeriesIntake(int rank = 0) : rank_(rank) {}

  void take(Series series, std::vector<Series>& into);
  // A sentence for each pass and metric of which series were refused; at most 21.
  std::vector<std::string> problems() const;

 private:
  std::string refusal(const Series& series) const;

  int rank_;
  std::size_t series_ = 0;
  std::size_t values_ = 0;
  std::map<std::pair<std::string, std::string>, std::string> refused_;  // pass and metric
  std::size_t more_ = 0;
};

// What remains of the artefacts that one rank names: names and files that stay in its folder, each
// name once a pass, at most 1000. Appends a sentence to `problems` for each other one.
std::vector<Artefact> sound_artefacts(std::vector<Artefact> artefacts, int rank,
                                      std::vector<std::string>& problems);

}  // namespace assay::store
