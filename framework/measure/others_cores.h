#pragma once

namespace assay::measure {

// How many of the cores that this process may use other processes and other virtual machines use.
class OthersCores {
 public:
  OthersCores();
  // On average since construction, to a hundredth of a second of each core; 0 where the system
  // does not tell.
  double average() const;

 private:
  double began_s_, others_began_s_;
};

}  // namespace assay::measure
