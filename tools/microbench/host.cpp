// Times whole processes of the host: its start, and its plan of a large experiment.
//   cmake -DASSAY_MICROBENCH=ON build/release && ninja -C build/release microbench_host
//   build/release/bin/microbench_host

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

extern char** environ;

namespace {

// Runs the program without output; returns its peak memory in bytes, or -1 when it failed.
double peak_memory_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {ASSAY_BUILD_DIR "/bin/assay"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  rusage usage = {};
  ::wait4(pid, &status, 0, &usage);
  return status == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : -1;
}

void run(benchmark::State& state, const std::vector<std::string>& arguments) {
  double peak_bytes = 0;
  for (auto _ : state) {
    peak_bytes = peak_memory_of(arguments);
    if (peak_bytes < 0) return state.SkipWithError("assay failed");
  }
  state.counters["peak_bytes"] =
      benchmark::Counter(peak_bytes, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

// Five axes of ten values: 100,000 cases.
std::string large_experiment() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "assay-microbench.yaml";
  std::ofstream(file) << "experiment: large\nworkload: attention\nmatrix:\n"
                         "  batch: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
                         "  heads: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
                         "  seq_len: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
                         "  d_head: [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]\n"
                         "  repeat: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
  return file.string();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string large = large_experiment();
  const auto add = [](const char* name, std::vector<std::string> arguments) {
    benchmark::RegisterBenchmark(name,
                                 [arguments](benchmark::State& state) { run(state, arguments); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  add("assay --help", {"--help"});
  add("assay list (warm catalogue)", {"list"});
  add("assay plan, 100,000 cases", {"plan", large});
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
