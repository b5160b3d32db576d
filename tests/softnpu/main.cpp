#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "check.h"

std::vector<TestCase>& test_cases() {
  static std::vector<TestCase> cases;
  return cases;
}

int run_in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  for (int tick = 0; tick < 3000; ++tick) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

std::vector<ChildProgram>& child_programs() {
  static std::vector<ChildProgram> programs;
  return programs;
}

namespace {

void write_line(int file, const std::string& line) {
  const std::string text = line + "\n";
  if (write(file, text.data(), text.size()) != ssize_t(text.size())) throw CheckFailed("the pipe is closed");
}

std::string read_line(int file) {
  std::string line;
  for (char c = 0; read(file, &c, 1) == 1; line += c)
    if (c == '\n') return line;
  throw CheckFailed("the other process ended; it had said '" + line + "'");
}

int run_child_program(const char* name) {
  for (const ChildProgram& program : child_programs()) {
    if (std::strcmp(program.name, name) != 0) continue;
    try {
      program.body();
      return 0;
    } catch (const std::exception& error) { std::fprintf(stderr, "child %s: %s\n", name, error.what()); }
  }
  return 1;
}

}  // namespace

void child_says(const std::string& line) { write_line(STDOUT_FILENO, line); }
std::string child_hears() { return read_line(STDIN_FILENO); }

ChildProcess::ChildProcess(const char* name) {
  int down[2], up[2];
  CHECK(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  std::string self = "/proc/self/exe", flag = "--child", program = name;
  char* arguments[] = {self.data(), flag.data(), program.data(), nullptr};
  const int problem = posix_spawn(&pid_, self.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
  CHECK_EQUAL(problem, 0);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    join();
  }
  close(to_child_);
  close(from_child_);
}

void ChildProcess::say(const std::string& line) { write_line(to_child_, line); }
std::string ChildProcess::hear() { return read_line(from_child_); }

int ChildProcess::join() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Floats::Floats(std::vector<float> values) : count_(values.size()) {
  OK(aclrtMalloc(&data_, bytes(), ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpy(data_, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
}

Floats::~Floats() {
  aclrtSynchronizeDevice();
  aclrtFree(data_);
}

std::vector<float> Floats::read() const {
  OK(aclrtSynchronizeDevice());
  std::vector<float> values(count_);
  OK(aclrtMemcpy(values.data(), bytes(), data_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}

View::View(void* data, std::vector<int64_t> sizes, aclDataType type, std::vector<int64_t> strides,
           int64_t offset) {
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  handle = aclCreateTensor(sizes.data(), sizes.size(), type, strides.empty() ? nullptr : strides.data(),
                           offset, ACL_FORMAT_ND, &count, 1, data);
  CHECK(handle != nullptr);
}

// test_softnpu [part of a test's name]
int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  softnpu_set_devices(2);
  softnpu_set_memory(64 << 20);
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) {
    std::printf("cannot start: %s\n", aclGetRecentErrMsg());
    return 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return run_child_program(argv[2]);
  int failed = 0, run = 0;
  for (const TestCase& test : test_cases()) {
    if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
    ++run;
    try {
      aclrtSetDevice(0);
      test.body();
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED %s\n  %s\n", test.name, error.what());
    }
    softnpu_fail_clear();
    softnpu_gate(nullptr, 0);
    softnpu_set_delay(0);
    aclrtSetDevice(0);
    aclrtSynchronizeDevice();
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return failed != 0 || run == 0;
}
