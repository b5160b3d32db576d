// Runs every test of this program, or those whose sentence contains the first argument.
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/error.h"
#include "testing.h"

std::string testing::error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const mt::Error& error) { return error.what(); }
  throw std::runtime_error("expected an error, but none was raised");
}

int main(int argc, char** argv) {
  int failed = 0, run = 0;
  for (const testing::Case& test : testing::cases()) {
    if (argc > 1 && !std::strstr(test.name, argv[1])) continue;
    ++run;
    try {
      test.body();
      std::printf("ok      %s\n", test.name);
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED  %s\n        %s\n        again: %s \"%s\"\n", test.name, error.what(), argv[0],
                  test.name);
    }
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return failed || run == 0;
}
