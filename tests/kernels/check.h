// A test program without a framework: TEST("sentence it proves") { … CHECK(…) … }.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/common/view.h"

struct TestCase {
  const char* sentence;
  void (*body)();
};
std::vector<TestCase>& all_tests();
extern int failed_checks;

#define TEST_JOIN_(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN_(a, b)
#define TEST_NUMBERED(sentence, number)                                    \
  static void TEST_JOIN(test_, number)();                                  \
  [[maybe_unused]] static const bool TEST_JOIN(registered_, number) =      \
      (all_tests().push_back({sentence, TEST_JOIN(test_, number)}), true); \
  static void TEST_JOIN(test_, number)()
// Numbers, not lines: several files are compiled together.
#define TEST(sentence) TEST_NUMBERED(sentence, __COUNTER__)

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition))                                                                          \
      ++failed_checks, std::printf("  %s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
  } while (0)

#define CHECK_NEAR(got, wanted, tolerance)                                                            \
  do {                                                                                                \
    const double got_ = double(got), wanted_ = double(wanted);                                        \
    if (!(std::fabs(got_ - wanted_) <= (tolerance)))                                                  \
      ++failed_checks,                                                                                \
          std::printf("  %s:%d: %s is %.9g, wanted %.9g\n", __FILE__, __LINE__, #got, got_, wanted_); \
  } while (0)

#define CHECK_FAILS(expression, text)                                                                      \
  do {                                                                                                     \
    std::string message_ = "nothing was thrown";                                                           \
    try {                                                                                                  \
      expression;                                                                                          \
    } catch (const mt::Error& error) { message_ = error.what(); }                                          \
    if (message_.find(text) == std::string::npos)                                                          \
      ++failed_checks, std::printf("  %s:%d: wanted an error with \"%s\": %s\n", __FILE__, __LINE__, text, \
                                   message_.c_str());                                                      \
  } while (0)

// Owned memory with a shape; `view()` is what kernels take.
template <class T>
struct Array {
  std::vector<int64_t> sizes, strides;
  std::vector<T> data;  // T = char stands for bool: vector<bool> has no addressable elements
  int64_t offset = 0;

  explicit Array(std::vector<int64_t> shape, T value = T()) : sizes(std::move(shape)), strides(sizes.size()) {
    int64_t n = 1;
    for (size_t d = sizes.size(); d-- > 0;) strides[d] = n, n *= sizes[d];
    data.assign(size_t(n), value);
  }
  Array(std::vector<int64_t> shape, std::function<T(int64_t)> make) : Array(std::move(shape)) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = make(int64_t(i));
  }
  mt::kernels::View view() {
    return {data.data() + offset, sizes.data(), strides.data(), int(sizes.size()),
            mt::dtype_of<std::conditional_t<std::is_same_v<T, char>, bool, T>>};
  }
  Array transposed() const {  // shares nothing: a copy whose view swaps the last two dimensions
    Array other = *this;
    std::swap(other.sizes[sizes.size() - 1], other.sizes[sizes.size() - 2]);
    std::swap(other.strides[sizes.size() - 1], other.strides[sizes.size() - 2]);
    return other;
  }
  T& operator[](int64_t i) { return data[size_t(i)]; }
};
