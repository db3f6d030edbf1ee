#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/installation.h"
#include "run/interrupt.h"
#include "run/process.h"
#include "wire/messages.h"

namespace assay::run {

// How a case ended for all of its ranks.
struct CaseEnd {
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::vector<store::Series> series;
  bool reusable = false;                              // the workers may take another case
  bool interrupted = false;                           // stopped by the user: not a result
  nlohmann::json context = nlohmann::json::object();  // joins CaseResult::context
};

// The worker processes of one case, one a rank, which serve case after case.
class WorkerGroup {
 public:
  static Result<WorkerGroup> start(const Installation& installation, int world_size);

  WorkerGroup(WorkerGroup&&) = default;
  WorkerGroup& operator=(WorkerGroup&&) = default;

  int world_size() const { return static_cast<int>(workers_.size()); }
  const nlohmann::json& versions() const { return versions_; }

  // Sends the case to every rank and waits until all have answered, the time is up, one has died
  // or the user wants to stop now. `doing` is told what rank 0 does.
  CaseEnd run_case(const wire::CaseRequest& request, double time_limit_s, Interrupt& interrupt,
                   const std::function<void(const std::string&)>& doing);

 private:
  struct Worker {
    Process process;
    wire::Channel channel;
    std::string output;  // the last of what it printed
    bool done = false;
    Status status;
  };
  WorkerGroup() = default;

  Result<void> gather(wire::Listener& listener, const std::string& token);
  Result<void> admit(wire::Channel channel, const std::string& token);
  void send_to_all(const wire::CaseRequest& request);
  void wait_and_read(const Interrupt& interrupt, int limit_ms, std::int64_t ordinal, CaseEnd& end,
                     const std::function<void(const std::string&)>& doing);
  void conclude(CaseEnd& end, bool after_failure, double time_limit_s);
  void read_output(Worker& worker);
  void take_messages(std::size_t rank, std::int64_t ordinal, CaseEnd& end,
                     const std::function<void(const std::string&)>& doing);
  std::string death_of(std::size_t rank);

  std::vector<Worker> workers_;
  nlohmann::json versions_;
};

}  // namespace assay::run
