#include "run/launch/seat_watch.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"

namespace assay::run {

namespace {

// What an agent tells of its node, with the rank's number for its GPU.
nlohmann::json health_told(const nlohmann::json& answer, int device) {
  nlohmann::json health = member_of(answer, "health");
  if (!health.is_object()) return nlohmann::json::object();
  const nlohmann::json gpus = member_of(health, "gpus");
  health.erase("gpus");
  for (nlohmann::json gpu : gpus) {
    if (!gpu.is_object()) continue;
    gpu["device"] = device;
    health["gpus"].push_back(std::move(gpu));
  }
  return health;
}

}  // namespace

std::vector<int> SeatWatch::devices_of(std::size_t seat) const {
  return on_cuda_ ? std::vector<int>{seats_[seat].device} : std::vector<int>{};
}

void SeatWatch::begin() {
  drop();
  // The workers' start tells why a rank cannot be brought back.
  static_cast<void>(job_.bring_back(seats()));
  seats_ = seats();  // ranks that came back may sit elsewhere
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    if (!on_cuda_ && !is_first_of_node(seat)) continue;
    std::vector<int> agents;
    for (const std::size_t rank : job_.nodes().all[seats_[seat].node].ranks) {
      agents.push_back(job_.places()[rank].pid);
    }
    auto agent = job_.agent(seats_[seat].rank);
    const int call =
        agent->ask("watch", {{"devices", devices_of(seat)}, {"agents", std::move(agents)}});
    open_.push_back({seat, std::move(agent), call});
  }
  std::erase_if(open_, [](const Open& open) {
    const bool begun = open.agent->answer(open.call, long_patience).has_value();
    if (!begun) open.agent->send({{"type", "unwatch"}, {"watch", open.call}});
    return !begun;
  });
}

void SeatWatch::drop() {
  for (const Open& open : open_) {
    open.agent->send({{"type", "unwatch"}, {"watch", open.call}});
  }
  open_.clear();
}

SeatWatch::Seen SeatWatch::end(int others) {
  std::vector<Open> ended = std::exchange(open_, {});
  for (Open& open : ended) {
    const Seat& seat = seats_[open.seat];
    open.call = open.agent->ask("watched", {{"watch", open.call},
                                            {"devices", devices_of(open.seat)},
                                            {"ranks", seat.local_ranks},
                                            {"processes", seat.local_ranks + others}});
  }
  Seen seen;
  for (const Open& open : ended) {
    if (const auto answer = open.agent->answer(open.call, long_patience)) {
      take(open.seat, *answer, seen);
    }
  }
  return seen;
}

// Of a node's cores the first rank's agent tells; its GPUs are put together under that.
void SeatWatch::take(std::size_t seat, const nlohmann::json& answer, Seen& seen) const {
  const std::string& node = job_.nodes().all[seats_[seat].node].name;
  nlohmann::json& health =
      seats_[seat].node == seats_[0].node ? seen.health : seen.health["nodes"][node];
  const nlohmann::json own = health_told(answer, seats_[seat].local_rank);
  if (is_first_of_node(seat)) {
    health.update(own);
  } else {
    for (const nlohmann::json& gpu : member_of(own, "gpus")) health["gpus"].push_back(gpu);
  }
  for (const nlohmann::json& one : member_of(answer, "marks")) {
    const std::string mark = string_at(one, "mark");
    const std::string reason = string_at(one, "reason");
    if (mark == "busy" && !is_first_of_node(seat)) continue;
    const bool several = seats_.back().node != seats_.front().node;
    seen.marks.push_back({mark, "", several ? node + ": " + reason : reason});
  }
}

}  // namespace assay::run
