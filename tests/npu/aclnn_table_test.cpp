// Calls by name: every C type arrives as it was given. Ends with a non-zero status at the first failure.
#include "backends/npu/aclnn_table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using namespace mt::npu::aclnn;

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::printf("FAILED %s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

struct Seen {
  const aclTensor* tensor;
  char* text;
  aclDataType type;
  bool flag;
  int8_t small;
  int32_t medium;
  int64_t large;
  uint32_t count;
  uint64_t seed;
  float single;
  double real;
} g_seen;

// More of every register class than any convention passes in registers.
aclnnStatus record(const aclTensor* tensor, char* text, aclDataType type, bool flag, int8_t small,
                   int32_t medium, int64_t large, uint32_t count, uint64_t seed, float single, double real,
                   float, double, float, double, float, double, float last_single, double last_real,
                   int8_t last_small, bool last_flag, uint64_t* workspace, aclOpExecutor** executor) {
  CHECK(last_single == 0.5F && last_real == -0.25 && last_small == -7 && last_flag);
  g_seen = {tensor, text, type, flag, small, medium, large, count, seed, single, real};
  *workspace = 640;
  *executor = nullptr;
  return 161002;
}

void test_every_type_arrives_as_it_was_given() {
  char text[] = "text";
  int somewhere = 0;
  Value values[21] = {};
  values[0].pointer = &somewhere;
  values[1].pointer = text;
  values[2].integer = ACL_BF16;
  values[3].integer = 1;
  values[4].integer = -128;
  values[5].integer = -2147483647 - 1;
  values[6].integer = INT64_MIN;
  values[7].integer = 4294967295;
  values[8].integer = -1;  // the bits of the largest
  values[9].real = 0.1;
  values[10].real = 0.1;
  values[17].real = 0.5;
  values[18].real = -0.25;
  values[19].integer = -7;
  values[20].integer = 1;
  uint64_t workspace = 0;
  auto* executor = reinterpret_cast<aclOpExecutor*>(&somewhere);
  const aclnnStatus status =
      FirstPhase<decltype(record)>::plan(reinterpret_cast<void*>(record), values, &workspace, &executor);
  CHECK(status == 161002 && workspace == 640 && executor == nullptr);
  CHECK(static_cast<const void*>(g_seen.tensor) == &somewhere && g_seen.text == text);
  CHECK(g_seen.type == ACL_BF16 && g_seen.flag);
  CHECK(g_seen.small == -128 && g_seen.medium == -2147483647 - 1 && g_seen.large == INT64_MIN);
  CHECK(g_seen.count == 4294967295U && g_seen.seed == UINT64_MAX);
  CHECK(g_seen.single == 0.1F && g_seen.real == 0.1);
}

void test_rows_are_sorted_and_name_every_parameter() {
  CHECK(operators().size() > 1000);
  CHECK(
      std::ranges::is_sorted(operators(), {}, [](const Operator& op) { return std::string_view(op.name); }));
  for (const Operator& op : operators()) {
    const std::string_view names = op.parameter_names;
    CHECK(op.count == 0 ? names.empty() : std::ranges::count(names, ' ') + 1 == op.count);
  }
}

void test_operators_of_one_signature_share_their_call() {
  const auto plan_of = [](std::string_view name) {
    return std::ranges::find(operators(), name, [](const Operator& op) { return std::string_view(op.name); })
        ->plan;
  };
  CHECK(plan_of("aclnnAdd") == plan_of("aclnnSub"));
  CHECK(plan_of("aclnnAdd") != plan_of("aclnnMul"));
}

}  // namespace

int main() {
  test_every_type_arrives_as_it_was_given();
  test_rows_are_sorted_and_name_every_parameter();
  test_operators_of_one_signature_share_their_call();
  std::printf("calls by name: all passed\n");
  return 0;
}
