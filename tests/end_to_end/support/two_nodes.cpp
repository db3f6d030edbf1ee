#include "two_nodes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace assay::test {

namespace {

bool works(const std::string& command) {
  return std::system(("( " + command + " ) >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TwoNodes::TwoNodes() {
  static std::atomic<int> count = 0;
  const std::string name = fmt::format("as{}x{}", ::getpid(), ++count);
  names_[0] = name + "a";
  names_[1] = name + "b";
  if (::geteuid() != 0) {
    problem_ = "network namespaces need root";
  } else if (!works("command -v nsenter && ip -V && tc -V")) {
    problem_ = "ip, tc (iproute2) or nsenter is not installed";
  } else if (!works(fmt::format("ip netns add {0} && ip netns add {1}", first(), second()))) {
    problem_ = "this machine allows no network namespaces";
  } else if (!works(fmt::format("ip -n {0} link add eth0 type veth peer name eth0 netns {1}",
                                first(), second()))) {
    problem_ = "this machine has no veth pairs";
  }
  if (!problem_.empty()) return;
  for (int node = 0; node < 2; ++node) {
    const bool up = works(
        fmt::format("ip -n {0} addr add 10.77.0.{1}/24 dev eth0 && ip -n {0} link set eth0 up && "
                    "ip -n {0} link set lo up && tc -n {0} qdisc add dev eth0 root tbf rate 1gbit "
                    "burst 256kb latency 50ms",
                    names_[node], node + 1));
    if (!up) problem_ = "the link between two namespaces cannot be set up";
  }
}

TwoNodes::~TwoNodes() {
  for (const std::string& name : names_) works("ip netns del " + name);
}

std::vector<std::string> TwoNodes::on_first() const {
  return {"nsenter", "--net=/run/netns/" + first()};
}

std::string TwoNodes::launcher() const {
  return "description: Network namespaces that stand for nodes.\neach: rank\n"
         "command: [nsenter, \"--net=/run/netns/{host}\", env, \"RANK={rank}\",\n"
         "          \"WORLD_SIZE={ranks}\", \"LOCAL_RANK={local_rank}\", \"{assay}\", worker]\n";
}

std::vector<std::string> TwoNodes::options() const {
  return {"--nodes", "2", "--ranks-per-node", "1", "--hosts", first() + "," + second()};
}

void TwoNodes::cut() const { works(fmt::format("ip -n {} link set eth0 down", first())); }

}  // namespace assay::test
