// The smallest test harness: tests register themselves, a failed check prints itself and ends its test.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "acl_abi.h"
#include "softnpu_control.h"

struct TestCase {
  const char* name;
  void (*body)();
};
std::vector<TestCase>& test_cases();

struct Register {
  Register(const char* name, void (*body)()) { test_cases().push_back({name, body}); }
};

#define TEST_JOIN2(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN2(a, b)
#define TEST_NUMBERED(sentence, number)                                              \
  static void TEST_JOIN(test_, number)();                                            \
  static Register TEST_JOIN(register_, number)(sentence, &TEST_JOIN(test_, number)); \
  static void TEST_JOIN(test_, number)()
// Numbers, not lines: several files are compiled together.
#define TEST(sentence) TEST_NUMBERED(sentence, __COUNTER__)

struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class A, class B>
void check_equal(const A& got, const B& wanted, const char* text, const char* file, int line) {
  if (got == wanted) return;
  std::ostringstream message;
  message << file << ":" << line << ": " << text << ": got " << got << ", wanted " << wanted;
  if (const char* recent = aclGetRecentErrMsg()) message << " (message: " << recent << ")";
  throw CheckFailed(message.str());
}

#define CHECK(condition) check_equal(bool(condition), true, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, wanted) check_equal(got, wanted, #got, __FILE__, __LINE__)
#define OK(call) check_equal(int(call), 0, #call, __FILE__, __LINE__)
// The call fails with this code, and the message contains the text.
#define FAILS(call, code, part)                                                                       \
  do {                                                                                                \
    check_equal(int(call), int(code), #call, __FILE__, __LINE__);                                     \
    const char* recent_ = aclGetRecentErrMsg();                                                       \
    const std::string message_ = recent_ == nullptr ? "(no message)" : recent_;                       \
    if (message_.find(part) == std::string::npos)                                                     \
      throw CheckFailed(std::string(__FILE__ ":") + std::to_string(__LINE__) + ": the message is '" + \
                        message_ + "', wanted it to contain '" + part + "'");                         \
  } while (0)

// Runs `body` in a forked child and returns its wait status; a child that takes too long is killed (-1).
int run_in_child(const std::function<void()>& body);

// A program of this file that runs in a process of its own: `CHILD_PROGRAM(echo) { ... }`, started by
// ChildProcess("echo"). It talks with its parent in lines: child_says, child_hears.
struct ChildProgram {
  const char* name;
  void (*body)();
};
std::vector<ChildProgram>& child_programs();
#define CHILD_PROGRAM(name)                             \
  static void child_##name();                           \
  static const bool child_registered_##name = [] {      \
    child_programs().push_back({#name, &child_##name}); \
    return true;                                        \
  }();                                                  \
  static void child_##name()
void child_says(const std::string& line);
std::string child_hears();

class ChildProcess {
 public:
  explicit ChildProcess(const char* name);
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();
  void say(const std::string& line);
  std::string hear();  // throws when the child has ended
  int pid() const { return pid_; }
  // Waits for its end; its exit status, or -1 if a signal ended it.
  int join();

 private:
  int pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
};

// A device buffer of floats with host copies in and out.
class Floats {
 public:
  explicit Floats(std::vector<float> values);
  // So that Floats({1}) is one element of value 1, not one element.
  explicit Floats(std::initializer_list<float> values) : Floats(std::vector<float>(values)) {}
  explicit Floats(size_t count) : Floats(std::vector<float>(count)) {}
  Floats(const Floats&) = delete;
  ~Floats();
  std::vector<float> read() const;  // waits for the default stream first
  void* data() const { return data_; }
  size_t bytes() const { return count_ * sizeof(float); }

 private:
  size_t count_;
  void* data_ = nullptr;
};

// A contiguous (or given) view as an aclTensor, destroyed at the end of the scope.
class View {
 public:
  View(void* data, std::vector<int64_t> sizes, aclDataType type = ACL_FLOAT,
       std::vector<int64_t> strides = {}, int64_t offset = 0);
  View(const View&) = delete;
  ~View() { aclDestroyTensor(handle); }
  operator aclTensor*() const { return handle; }
  aclTensor* handle;
};

class Number {
 public:
  explicit Number(double value) : handle(aclCreateScalar(&value, ACL_DOUBLE)) {}
  explicit Number(int64_t value) : handle(aclCreateScalar(&value, ACL_INT64)) {}
  Number(const Number&) = delete;
  ~Number() { aclDestroyScalar(handle); }
  operator aclScalar*() const { return handle; }
  aclScalar* handle;
};

// Both phases on a stream; throws if either fails.
#define LAUNCH_ON(stream, op, ...)                             \
  do {                                                         \
    uint64_t size_ = 1;                                        \
    aclOpExecutor* executor_ = nullptr;                        \
    OK(op##GetWorkspaceSize(__VA_ARGS__, &size_, &executor_)); \
    OK(op(nullptr, size_, executor_, stream));                 \
  } while (0)
#define LAUNCH(op, ...) LAUNCH_ON(nullptr, op, __VA_ARGS__)
