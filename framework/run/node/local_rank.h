#pragma once

#include "run/node/rank_process.h"
#include "wire/status_page.h"

namespace assay::run {

// A worker process on this machine, with its subreaper and its status page.
class LocalRank final : public RankProcess {
 public:
  static Result<LocalRank> start(Process::Command command);

  void watch(std::vector<pollfd>& watched) const override;
  void read_output(std::string& printed) override { process_.read_streams(printed); }
  void await_output() override {}
  bool ended() override { return process_.ended().has_value(); }
  ProcessEnd wait() override { return process_.wait(); }
  bool is_ending() const override { return process_.is_ending(); }
  std::string cause() const override { return page_.cause(); }
  void kill_soon() override { process_.kill_soon(); }
  void kill() override { process_.kill(); }
  void ask() override;
  bool answered() override;
  std::optional<std::int64_t> collectives() const override;
  std::vector<wire::CollectiveNote> last_collectives() const override;
  std::optional<pid_t> subreaper() const override { return process_.subreaper(); }

  wire::StatusPage* page() const { return page_.page(); }  // may be null
  wire::Descriptor& input() { return process_.input(); }

 private:
  Process process_;
  wire::SharedStatus page_;
};

}  // namespace assay::run
