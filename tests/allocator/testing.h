// A few lines of test framework: TEST("sentence it proves") { CHECK(...); CHECK_EQUAL(a, b); }
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace testing {

struct Case {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

[[noreturn]] inline void fail_at(const char* file, int line, const std::string& text) {
  std::ostringstream out;
  out << file << ":" << line << ": " << text;
  throw std::runtime_error(out.str());
}

#define TESTING_JOIN(a, b) a##b
#define TESTING_NAME(a, b) TESTING_JOIN(a, b)
#define TEST_NUMBERED(sentence, number)                                                                 \
  static void TESTING_NAME(test_body_, number)();                                                       \
  static const ::testing::Register TESTING_NAME(test_entry_, number)(sentence,                          \
                                                                     TESTING_NAME(test_body_, number)); \
  static void TESTING_NAME(test_body_, number)()
// Numbers, not lines: several files are compiled together.
#define TEST(sentence) TEST_NUMBERED(sentence, __COUNTER__)

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) ::testing::fail_at(__FILE__, __LINE__, "expected " #condition); \
  } while (0)

#define CHECK_EQUAL(got, wanted)                                            \
  do {                                                                      \
    const auto got_value = (got);                                           \
    const auto wanted_value = (wanted);                                     \
    if (!(got_value == wanted_value)) {                                     \
      std::ostringstream text;                                              \
      text << #got << " is " << got_value << ", expected " << wanted_value; \
      ::testing::fail_at(__FILE__, __LINE__, text.str());                   \
    }                                                                       \
  } while (0)

// The message of the mt::Error that `body` throws; a failure if it throws none.
std::string error_of(const std::function<void()>& body);

}  // namespace testing
