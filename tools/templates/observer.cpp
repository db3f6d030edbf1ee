#include <assay/observer.h>
#include <sys/resource.h>

namespace {

// The processor's time that the host spends on a step.
class Mine final : public assay::Observer {
 public:
  static std::vector<assay::MetricInfo> metrics() {
    return {{"processor_time", "s", assay::Direction::lower_is_better,
             "Processor time of one step, over all threads of the process."}};
  }

  void observe(const assay::ObservedPass& observed, assay::Recorder& recorder) override {
    for (int i = 0; i < observed.steps(); ++i) {
      const double begin_s = processor_s();
      observed.step();
      recorder.sample("processor_time", "", processor_s() - begin_s);
    }
  }

 private:
  static double processor_s() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "The processor time of a step.")
