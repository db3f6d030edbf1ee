#include "program.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "run/process/process.h"

namespace assay::test {

namespace {

std::vector<std::string> in_folder(const std::filesystem::path& folder,
                                   const std::vector<std::string>& words) {
  std::vector<std::string> all = {"env", "-C", folder.string(),
                                  "ASSAY_CACHE=" + (folder / "cache").string()};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::vector<std::string> built_assay(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {ASSAY_BUILD_DIR "/bin/assay"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// Becomes the program, with this terminal as its standard streams. Does not return.
void become(const std::vector<std::string>& words, const char* terminal) {
  ::setsid();
  const int side = ::open(terminal, O_RDWR);
  for (int stream : {0, 1, 2}) ::dup2(side, stream);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Ended program(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  run::Process::Command command;
  command.arguments = in_folder(folder, words);
  const auto done = run::capture(command);
  if (!done) return {-1, {}, done.error().text()};
  return {done->end.signalled ? 128 + done->end.number : done->end.number, done->output,
          done->errors};
}

Ended assay(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
  return program(folder, built_assay(arguments));
}

AtTerminal start_at_terminal(const std::filesystem::path& folder,
                             const std::vector<std::string>& words) {
  AtTerminal started;
  started.terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  const bool there = started.terminal >= 0 && ::grantpt(started.terminal) == 0 &&
                     ::unlockpt(started.terminal) == 0;
  const char* name = there ? ::ptsname(started.terminal) : nullptr;
  if (name == nullptr) return started;
  const std::string side = name;
  const winsize size = {.ws_row = 40, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(started.terminal, TIOCSWINSZ, &size);
  const std::vector<std::string> all = in_folder(folder, words);
  started.child = ::fork();
  if (started.child == 0) become(all, side.c_str());
  return started;
}

Ended assay_at_terminal(const std::filesystem::path& folder,
                        const std::vector<std::string>& arguments) {
  std::vector<std::string> words = built_assay(arguments);
  words.insert(words.begin(), {"env", "NO_COLOR=1"});
  const auto [terminal, child] = start_at_terminal(folder, words);
  if (child < 0) return {-1, {}, "no terminal can be made"};
  Ended ended;
  char bytes[4096];
  // Reading fails once no process has the other side open.
  for (ssize_t count = 0; (count = ::read(terminal, bytes, sizeof(bytes))) > 0;) {
    ended.output.append(bytes, static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

std::string install_alone(const Folder& folder, const std::string& worker) {
  namespace fs = std::filesystem;
  for (const char* part : {"bin", "lib/assay", "configs/models", "plugins"}) {
    fs::create_directories(folder.path() / part);
  }
  const fs::path assay = folder.path() / "bin" / "assay";
  fs::copy_file(ASSAY_BUILD_DIR "/bin/assay", assay);
  folder.write("lib/libassay_worker.so", worker);
  return assay.string();
}

}  // namespace assay::test
