#include "check.h"

int failed_checks = 0;

std::vector<TestCase>& all_tests() {
  static std::vector<TestCase> tests;
  return tests;
}

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  int ran = 0, failed = 0;
  for (const TestCase& test : all_tests()) {
    if (std::string(test.sentence).find(filter) == std::string::npos) continue;
    const int before = failed_checks;
    try {
      test.body();
    } catch (const std::exception& error) {
      ++failed_checks;
      std::printf("  unexpected exception: %s\n", error.what());
    }
    ++ran;
    if (failed_checks != before) ++failed, std::printf("FAILED %s\n", test.sentence);
  }
  std::printf("%d of %d kernel tests passed\n", ran - failed, ran);
  return failed != 0 || ran == 0;
}
