#include "run/plugins/build_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "base/text.h"
#include "run/plugins/build_cache.h"
#include "run/plugins/process_jobs.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

// One library on its way: its objects, then itself.
class LibraryOnItsWay {
 public:
  LibraryOnItsWay(const PluginBuild& build, const LibraryToBuild& wanted, BuiltLibrary& built,
                  const BuildListener& listener)
      : build_(build),
        sources_(wanted.sources),
        built_(built),
        begins_([&listener, &wanted] {
          if (listener.begins) listener.begins(wanted.title);
        }),
        cached_(key(), wanted.sources.name + ".so") {}

  bool take_from_cache() {
    const auto file = cached_.current();
    if (file) built_.file = *file;
    return file.has_value();
  }

  // The compilers to run; with none of them, the linker.
  std::vector<Job> jobs() {
    objects_.resize(sources_.sources.size());
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < sources_.sources.size(); ++i) {
      const CachedFile cached(object_key(i), sources_.sources[i].stem().string() + ".o");
      if (const auto object = cached.current()) {
        objects_[i] = *object;
        note(cached.made_from());
      } else {
        jobs.push_back(compiling(i, cached));
      }
    }
    missing_ = jobs.size();
    if (jobs.empty()) jobs.push_back(linking());
    built_.built_now = true;
    return jobs;
  }

  std::string lacks() const {
    for (const fs::path& source : sources_.sources) {
      if (source.extension() == ".cu" && build_.cuda_compiler.empty()) {
        return fmt::format("{} needs nvcc, which this assay's build did not find",
                           source.filename().string());
      }
    }
    return {};
  }

 private:
  std::string key() const {
    std::string key = build_.text;
    for (std::size_t i = 0; i < sources_.sources.size(); ++i) key += "\n" + object_key(i);
    return key + "\n" + join(sources_.link, "\n");
  }

  std::string object_key(std::size_t i) const {
    const fs::path& source = sources_.sources[i];
    const auto text = read_file(source.string());
    return join(compile_command(build_, sources_, source, "", ""), "\n") + "\n" + build_.text +
           "\n" + (text ? *text : "");
  }

  bool failed() const { return !built_.lacking.empty() || !built_.messages.empty(); }

  // Whether the program did its work; else the library has failed.
  bool succeeded(const Result<Captured>& ended) {
    if (!ended) {
      built_.lacking = ended.error().diagnostics.front().message;
      return false;
    }
    const std::string said = ended->output + ended->errors;
    if (ended->ok()) {
      warnings_ += said;
      return true;
    }
    built_.messages += said;
    if (!ended->stopped.empty()) built_.messages += "the compiler was stopped: " + ended->stopped;
    if (ended->end.signalled) built_.messages += "the compiler ended with " + ended->end.text();
    if (built_.messages.empty()) built_.messages = "the compiler ended with " + ended->end.text();
    return false;
  }

  Job compiling(std::size_t i, const CachedFile& cached) {
    const fs::path object = cached.scratch(".o"), rule = cached.scratch(".d");
    Job job;
    job.words = compile_command(build_, sources_, sources_.sources[i], object, rule);
    job.wanted = [this] {
      begin();
      return !failed();
    };
    job.ended = [=, this](const Result<Captured>& ended) {
      std::vector<Job> next;
      if (succeeded(ended)) {
        const auto made_from = prerequisites(read_file(rule.string()).value_or(""));
        note(made_from);
        if (const auto kept = cached.keep(object, made_from, started_)) {
          objects_[i] = *kept;
        } else {
          built_.lacking = kept.error().text();
        }
      }
      remove_scratch({object, rule});
      if (--missing_ == 0 && !failed()) next.push_back(linking());
      return next;
    };
    return job;
  }

  Job linking() {
    const fs::path library = cached_.scratch(".so");
    Job job;
    job.words = link_command(build_, sources_, objects_, library);
    job.wanted = [this] {
      begin();
      return !failed();
    };
    job.ended = [=, this](const Result<Captured>& ended) {
      if (succeeded(ended)) keep(library);
      remove_scratch({library});
      return std::vector<Job>();
    };
    return job;
  }

  void keep(const fs::path& library) {
    std::sort(made_from_.begin(), made_from_.end());
    made_from_.erase(std::unique(made_from_.begin(), made_from_.end()), made_from_.end());
    const auto kept = cached_.keep(library, made_from_, started_);
    const auto described = kept ? describe_sources(*kept, sources_) : tl::unexpected(kept.error());
    if (described) {
      built_.file = *kept;
      built_.messages = warnings_;
    } else {
      built_.lacking = described.error().text();
    }
  }

  void begin() {
    if (started_ != fs::file_time_type::max()) return;
    started_ = fs::file_time_type::clock::now();
    begins_();
  }

  void note(const std::vector<fs::path>& made_from) {
    made_from_.insert(made_from_.end(), made_from.begin(), made_from.end());
  }

  static void remove_scratch(const std::vector<fs::path>& files) {
    std::error_code ignored;
    for (const fs::path& file : files) fs::remove(file, ignored);
  }

  const PluginBuild& build_;
  const PluginSources& sources_;
  BuiltLibrary& built_;
  std::function<void()> begins_;  // called once
  CachedFile cached_;
  std::vector<fs::path> objects_;
  std::vector<fs::path> made_from_;
  fs::file_time_type started_ = fs::file_time_type::max();
  std::size_t missing_ = 0;  // objects
  std::string warnings_;
};

}  // namespace

std::vector<BuiltLibrary> build_libraries(const PluginBuild& build,
                                          const std::vector<LibraryToBuild>& wanted,
                                          const BuildListener& listener) {
  std::vector<BuiltLibrary> built(wanted.size());
  std::vector<std::unique_ptr<LibraryOnItsWay>> on_their_way;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto library = std::make_unique<LibraryOnItsWay>(build, wanted[i], built[i], listener);
    if (library->take_from_cache()) continue;
    built[i].lacking = library->lacks();
    if (!built[i].lacking.empty()) continue;
    for (Job& job : library->jobs()) jobs.push_back(std::move(job));
    on_their_way.push_back(std::move(library));
  }
  run_jobs(std::move(jobs), std::max(1u, std::thread::hardware_concurrency()), listener.stop);
  return built;
}

}  // namespace assay::run
