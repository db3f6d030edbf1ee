#include "trace.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "host_tree.h"

namespace assay::kernels {

namespace {

// Compressed bytes of what is still in the compressor and of the end.
constexpr std::size_t reserve = 2048;
constexpr std::size_t chunk = 1u << 14;

class Gzip {
 public:
  explicit Gzip(std::string& out) : out_(out) {
    constexpr int gzip_window = 15 + 16;
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw std::runtime_error("zlib cannot begin to compress the trace");
    }
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // flush: Z_NO_FLUSH, Z_SYNC_FLUSH, after which out() holds all of it, or Z_FINISH.
  void write(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    std::string made(chunk, '\0');
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(made.data());
      stream_.avail_out = static_cast<uInt>(made.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) {
        throw std::runtime_error("zlib cannot compress the trace");
      }
      out_.append(made, 0, made.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  std::string& out_;
  z_stream stream_{};
};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct Line {
  Nanoseconds begin;
  bool device;
  std::size_t index;
};

class Writer {
 public:
  explicit Writer(const Events& events) : events_(events), tree_(events.host) {
    for (std::size_t i = 0; i < events.host.size(); ++i) {
      lines_.push_back({events.host[i].time.begin, false, i});
    }
    for (std::size_t i = 0; i < events.device.size(); ++i) {
      lines_.push_back({events.device[i].time.begin, true, i});
    }
    std::ranges::stable_sort(lines_, {}, &Line::begin);
    for (const Launch& launch : events.launches) launches_[launch.correlation] = &launch;
    if (!lines_.empty()) zero_ = lines_.front().begin;
  }

  Trace trace(std::size_t most_bytes) {
    Trace trace;
    Gzip gzip(trace.gzip);
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + names();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      text += lines_[i].device ? device_line(lines_[i].index) : host_line(lines_[i].index);
      if (text.size() < chunk) continue;
      gzip.write(text, Z_SYNC_FLUSH);
      text.clear();
      if (trace.gzip.size() + chunk + reserve > most_bytes) {
        trace.left_out = lines_.size() - i - 1;
        break;
      }
    }
    text += fmt::format(
        "{{\"name\":\"end\",\"ph\":\"M\",\"pid\":0,\"tid\":0}}],\"otherData\":{{\"left_out\":\"{}"
        "\"}}}}\n",
        trace.left_out);
    gzip.write(text, Z_FINISH);
    return trace;
  }

 private:
  static constexpr int host_process = 0;
  static int process_of(const DeviceEvent& event) { return event.device + 1; }

  std::string names() const {
    std::string text = name_line("process_name", host_process, 0, "host");
    std::set<std::pair<int, std::int64_t>> streams;
    for (const DeviceEvent& event : events_.device) {
      streams.emplace(process_of(event), event.stream);
    }
    std::set<int> devices;
    for (const auto& [process, stream] : streams) {
      if (devices.insert(process).second) {
        text += name_line("process_name", process, 0, fmt::format("GPU {}", process - 1));
      }
      text += name_line("thread_name", process, stream, fmt::format("stream {}", stream));
    }
    std::set<std::uint64_t> threads;
    for (const HostEvent& event : events_.host) {
      if (!threads.insert(event.thread).second) continue;
      text += name_line("thread_name", host_process, static_cast<std::int64_t>(event.thread),
                        fmt::format("thread {}", event.thread));
    }
    return text;
  }

  static std::string name_line(const char* what, int process, std::int64_t track,
                               const std::string& name) {
    return fmt::format(
        "{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n", what,
        process, track, quoted(name));
  }

  // Microseconds since the first event.
  std::string at(Nanoseconds time) const {
    return fmt::format("{:.3f}", static_cast<double>(time - zero_) * 1e-3);
  }
  static std::string length(const Interval& time) {
    return fmt::format("{:.3f}", static_cast<double>(time.length()) * 1e-3);
  }

  std::string host_line(std::size_t index) const {
    const HostEvent& event = events_.host[index];
    constexpr const char* kinds[] = {"operator", "backward", "range"};
    std::string arguments;
    if (event.sequence >= 0) arguments = fmt::format("\"sequence\":{}", event.sequence);
    const int path = tree_.path[index];
    if (event.kind == HostEvent::Kind::backward && path != Paths::none) {
      arguments += fmt::format("{}\"range\":{}", arguments.empty() ? "" : ",",
                               quoted(tree_.paths.text(path)));
    }
    return fmt::format(
        "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
        "\"args\":{{{}}}}},\n",
        quoted(event.name), kinds[static_cast<int>(event.kind)], host_process, event.thread,
        at(event.time.begin), length(event.time), arguments);
  }

  std::string device_line(std::size_t index) const {
    const DeviceEvent& event = events_.device[index];
    const auto launch = launches_.find(event.correlation);
    int host = tree_.of_id(event.operation);
    if (host < 0 && launch != launches_.end()) {
      host = tree_.innermost_at(launch->second->time.begin);
    }
    std::string arguments = fmt::format("\"correlation\":{}", event.correlation);
    if (host >= 0) {
      const auto at_host = static_cast<std::size_t>(host);
      arguments += fmt::format(",\"operator\":{},\"range\":{}", quoted(events_.host[at_host].name),
                               quoted(tree_.paths.text(tree_.path[at_host])));
    }
    std::string text = fmt::format(
        "{{\"name\":{},\"cat\":\"kernel\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
        "\"args\":{{{}}}}},\n",
        quoted(event.name), process_of(event), event.stream, at(event.time.begin),
        length(event.time), arguments);
    if (launch != launches_.end() && host >= 0) {
      text += arrow("s", host_process,
                    static_cast<std::int64_t>(events_.host[static_cast<std::size_t>(host)].thread),
                    launch->second->time.begin, event.correlation);
      text += arrow("f", process_of(event), event.stream, event.time.begin, event.correlation);
    }
    return text;
  }

  std::string arrow(const char* end, int process, std::int64_t track, Nanoseconds time,
                    std::uint64_t id) const {
    return fmt::format(
        "{{\"name\":\"launch\",\"cat\":\"launch\",\"ph\":\"{}\",\"bp\":\"e\",\"pid\":{},\"tid\":{},"
        "\"ts\":{},\"id\":{}}},\n",
        end, process, track, at(time), id);
  }

  const Events& events_;
  HostTree tree_;
  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, const Launch*> launches_;
  Nanoseconds zero_ = 0;
};

}  // namespace

Trace trace_of(const Events& events, std::size_t most_bytes) {
  return Writer(events).trace(most_bytes);
}

}  // namespace assay::kernels
