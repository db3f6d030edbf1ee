#include "wire/arrivals.h"

#include <utility>

namespace assay::wire {

namespace {

bool has_input(int descriptor) {
  pollfd watched = {descriptor, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

void Arrivals::watch(std::vector<pollfd>& watched) const {
  if (!full()) watched.push_back({listener_.descriptor(), POLLIN, 0});
  for (const Waiting& waiting : waiting_) {
    watched.push_back({waiting.channel.descriptor(), POLLIN, 0});
  }
}

Result<void> Arrivals::accept() {
  while (!full() && has_input(listener_.descriptor())) {
    auto channel = listener_.accept();
    if (!channel) return tl::unexpected(channel.error());
    waiting_.push_back({std::move(*channel), Clock::now() + limits_.time});
  }
  return {};
}

Result<std::vector<Arrivals::Arrived>> Arrivals::take() {
  if (auto accepted = accept(); !accepted) return tl::unexpected(accepted.error());
  std::vector<Arrived> arrived;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    Channel& channel = at->channel;
    bool drop = Clock::now() > at->limit;
    if (has_input(channel.descriptor())) {
      const auto alive = channel.read_available();
      auto message = channel.next(limits_.message_bytes);
      if (message && *message) {
        arrived.push_back({std::move(channel), std::move(**message)});
        drop = true;
      } else {
        drop = drop || !message || !alive || !*alive;
      }
    }
    at = drop ? waiting_.erase(at) : std::next(at);
  }
  return arrived;
}

}  // namespace assay::wire
