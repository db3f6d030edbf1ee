#pragma once

#include "report/spec/reader.h"

namespace assay::report {

using Handlers = std::vector<std::pair<std::string, Reader::Handler>>;

Handlers& operator+=(Handlers& handlers, Handlers more);

// How a column looks, whatever it shows.
Handlers look(Reader& reader, Column& column);

// Everything a figure of the results is chosen by; a column's own keys go to `column`.
// `needs_unit`: a figure that has a unit must be given one to be shown in.
void read_measure(Reader& reader, const yaml::Node& node, Column& column, bool needs_unit);

// Whether there is such a unit, or some metric, or its rate, is measured in it.
bool unit_exists(const Vocabulary& known, const std::string& name);

// The name of a unit; a complaint where there is none of it.
std::string read_unit(Reader& reader, const yaml::Node& node);

// Reads what a figure is chosen by into a column, which becomes one. `handlers` refer to the
// object.
class MeasureReader {
 public:
  MeasureReader(Reader& reader, Column& column);
  MeasureReader(const MeasureReader&) = delete;
  MeasureReader& operator=(const MeasureReader&) = delete;

  Handlers handlers();
  // Once the entries of `node` have been read; false after a complaint that leaves no figure.
  // `needs_unit` as above.
  bool finish(const yaml::Node& node, bool needs_unit);
  // As written; empty where nothing was.
  const std::vector<Statistic>& statistics() const { return statistics_; }

 private:
  Measure& measure();
  Handlers selection();
  void read_rank(const yaml::Node& node);
  void read_statistics(const yaml::Node& node);
  bool finish_rate(const yaml::Node& node, bool needs_unit);
  bool is_counted();
  std::string share_of();
  void check_unit(const yaml::Node& node, const std::string& what, const std::string& unit,
                  bool needs_unit);

  Reader& reader_;
  Column& column_;
  std::vector<Statistic> statistics_;
  const MetricInfo* metric_ = nullptr;
  const yaml::Node* rate_ = nullptr;
  const yaml::Node* share_ = nullptr;
  const yaml::Node* stat_ = nullptr;
};

}  // namespace assay::report
