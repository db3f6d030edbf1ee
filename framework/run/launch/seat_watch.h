#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "run/launch/job.h"
#include "store/records/marks.h"

namespace assay::run {

// The watch over the nodes of one case: on each an agent reads the cores, and each rank's its GPU.
class SeatWatch {
 public:
  struct Seen {
    nlohmann::json health;  // of the first node; the others' in "nodes", by their names
    std::vector<store::Mark> marks;
  };

  // Of a case of so many ranks on so many nodes.
  SeatWatch(RankJob& job, int world_size, int case_nodes, bool on_cuda)
      : job_(job), world_size_(world_size), case_nodes_(case_nodes), on_cuda_(on_cuda) {}
  SeatWatch(SeatWatch&&) = default;
  ~SeatWatch() { drop(); }

  // Brings lost ranks of the seats back first (RankJob::bring_back()), and drops what is open.
  void begin();
  // others: processes of other cases beside this one's. What a lost agent saw is missing.
  Seen end(int others);
  // Ends it without a word.
  void drop();

 private:
  struct Open {
    std::size_t seat = 0;
    std::shared_ptr<Agent> agent;  // which may have been replaced meanwhile
    int call = 0;                  // that began it, and names it
  };
  bool is_first_of_node(std::size_t seat) const {
    return seat == 0 || seats_[seat - 1].node != seats_[seat].node;
  }
  std::vector<Seat> seats() const { return job_.seats(world_size_, case_nodes_, on_cuda_).all; }
  std::vector<int> devices_of(std::size_t seat) const;
  void take(std::size_t seat, const nlohmann::json& answer, Seen& seen) const;

  RankJob& job_;
  int world_size_;
  int case_nodes_;
  bool on_cuda_;
  std::vector<Seat> seats_;
  std::vector<Open> open_;
};

}  // namespace assay::run
