#pragma once

#include <string>
#include <vector>

namespace assay::test {

// Two network namespaces joined by a veth pair of 1 Gbit/s: they stand for two nodes. Removed with
// the object.
class TwoNodes {
 public:
  TwoNodes();
  ~TwoNodes();
  TwoNodes(const TwoNodes&) = delete;
  TwoNodes& operator=(const TwoNodes&) = delete;

  // Why this machine cannot have them; "" where it does.
  const std::string& problem() const { return problem_; }
  const std::string& first() const { return names_[0]; }
  const std::string& second() const { return names_[1]; }
  // Words ahead of a command that runs on the first node.
  std::vector<std::string> on_first() const;
  // A launcher that starts each rank on its {host}, and the options that go with it.
  std::string launcher() const;
  std::vector<std::string> options() const;
  // Takes the link between them down, from the first one's side.
  void cut() const;

 private:
  std::string names_[2];
  std::string problem_;
};

}  // namespace assay::test
