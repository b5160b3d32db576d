#include <dlfcn.h>

#include <algorithm>
#include <cmath>

#include "check.h"

namespace {

using Values = std::vector<float>;

void check_close(const Values& got, const Values& wanted, float tolerance = 1e-5f) {
  CHECK_EQUAL(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - wanted[i]) <= tolerance))
      throw CheckFailed("element " + std::to_string(i) + ": got " + std::to_string(got[i]) + ", wanted " +
                        std::to_string(wanted[i]));
}

}  // namespace

TEST("add takes alpha, broadcasts and honours strides and offsets") {
  Floats a({1, 2, 3, 4, 5, 6}), row({10, 20, 30}), out(6), column({0, 100, 200});
  LAUNCH(aclnnAdd, View(a.data(), {2, 3}), View(row.data(), {3}), Number(2.0), View(out.data(), {2, 3}));
  check_close(out.read(), {21, 42, 63, 24, 45, 66});
  // The transposed view of `a` plus the last two elements of `column` as a row.
  LAUNCH(aclnnAdd, View(a.data(), {3, 2}, ACL_FLOAT, {1, 3}), View(column.data(), {2}, ACL_FLOAT, {1}, 1),
         Number(1.0), View(out.data(), {3, 2}));
  check_close(out.read(), {101, 204, 102, 205, 103, 206});
}

TEST("an operator takes a number on the right, and works in place") {
  Floats a({1, 2, 3, 4});
  LAUNCH(aclnnMuls, View(a.data(), {4}), Number(3.0), View(a.data(), {4}));
  LAUNCH(aclnnInplaceAdds, View(a.data(), {4}), Number(int64_t(1)), Number(int64_t(2)));
  check_close(a.read(), {5, 8, 11, 14});
}

TEST("unary operators compute") {
  Floats a({-1, 0, 1, 2}), out(4);
  LAUNCH(aclnnExp, View(a.data(), {4}), View(out.data(), {4}));
  check_close(out.read(), {0.36787944f, 1, 2.7182818f, 7.3890561f});
  LAUNCH(aclnnRelu, View(a.data(), {4}), View(out.data(), {4}));
  check_close(out.read(), {0, 0, 1, 2});
}

TEST("comparisons write booleans and a cast turns them into numbers") {
  Floats a({1, 5, 3, 7}), mask(4), out(4);
  LAUNCH(aclnnGtScalar, View(a.data(), {4}), Number(3.0), View(mask.data(), {4}, ACL_BOOL));
  LAUNCH(aclnnCast, View(mask.data(), {4}, ACL_BOOL), ACL_FLOAT, View(out.data(), {4}));
  check_close(out.read(), {0, 1, 0, 1});
  LAUNCH(aclnnSWhere, View(mask.data(), {4}, ACL_BOOL), View(a.data(), {4}), View(out.data(), {4}),
         View(out.data(), {4}));
  check_close(out.read(), {0, 5, 0, 7});
}

TEST("products of matrices, with and without an addend") {
  Floats a({1, 2, 3, 4, 5, 6}), b({1, 0, 0, 1, 1, 1}), bias({10, 20}), out(4), tall(6);
  LAUNCH(aclnnMm, View(a.data(), {2, 3}), View(b.data(), {3, 2}), View(out.data(), {2, 2}), int8_t(0));
  check_close(out.read(), {4, 5, 10, 11});
  LAUNCH(aclnnAddmm, View(bias.data(), {2}), View(a.data(), {2, 3}), View(b.data(), {3, 2}), Number(1.0),
         Number(2.0), View(out.data(), {2, 2}), int8_t(0));
  check_close(out.read(), {18, 30, 30, 42});
  LAUNCH(aclnnMatmul, View(a.data(), {3, 1, 2}), View(b.data(), {2, 2}, ACL_FLOAT, {1, 2}),
         View(tall.data(), {3, 1, 2}), int8_t(0));
}

TEST("matmul of vectors and batches follows numpy") {
  Floats a({1, 2, 3, 4, 5, 6, 7, 8}), v({1, -1}), out(8);
  LAUNCH(aclnnMatmul, View(v.data(), {2}), View(v.data(), {2}), View(out.data(), {}), int8_t(0));
  CHECK_EQUAL(out.read()[0], 2.0f);
  LAUNCH(aclnnMatmul, View(a.data(), {2, 2, 2}), View(v.data(), {2}), View(out.data(), {2, 2}), int8_t(0));
  const Values product = out.read();
  check_close({product[0], product[1], product[2], product[3]}, {-1, -1, -1, -1});
  LAUNCH(aclnnMatmul, View(a.data(), {2, 2, 2}), View(a.data(), {2, 2}), View(out.data(), {2, 2, 2}),
         int8_t(0));
  check_close(out.read(), {7, 10, 15, 22, 23, 34, 31, 46});
}

TEST("reductions over some or all dimensions") {
  Floats a({1, 2, 3, 4, 5, 6}), out(3), one(1), index(6);
  const int64_t zero = 0;
  aclIntArray* dims = aclCreateIntArray(&zero, 1);
  LAUNCH(aclnnReduceSum, View(a.data(), {2, 3}), dims, false, ACL_FLOAT, View(out.data(), {3}));
  check_close(out.read(), {5, 7, 9});
  LAUNCH(aclnnMean, View(a.data(), {2, 3}), dims, true, ACL_FLOAT, View(out.data(), {1, 3}));
  check_close(out.read(), {2.5f, 3.5f, 4.5f});
  aclDestroyIntArray(dims);
  LAUNCH(aclnnAmax, View(a.data(), {2, 3}), nullptr, false, View(one.data(), {}));
  check_close(one.read(), {6});
  LAUNCH(aclnnMaxDim, View(a.data(), {2, 3}), 1, false, View(out.data(), {2}),
         View(index.data(), {2}, ACL_INT64));
  CHECK_EQUAL(out.read()[1], 6.0f);
  int64_t positions[2] = {};
  OK(aclrtMemcpy(positions, 16, index.data(), 16, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQUAL(positions[0], 2);
}

TEST("log-softmax, negative log likelihood and their gradients") {
  Floats logits({1, 2, 3, 0, 0, 0}), log_probs(6), loss(1), total(1), grad(6), upstream({1}), target(4);
  const int64_t classes[2] = {2, 0};
  OK(aclrtMemcpy(target.data(), 16, classes, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  View probs(log_probs.data(), {2, 3}), labels(target.data(), {2}, ACL_INT64);
  LAUNCH(aclnnLogSoftmax, View(logits.data(), {2, 3}), 1, probs);
  LAUNCH(aclnnNLLLoss, probs, labels, nullptr, 1, -100, View(loss.data(), {}), View(total.data(), {}));
  check_close(loss.read(), {(0.40760596f + 1.0986123f) / 2});
  check_close(total.read(), {2});
  LAUNCH(aclnnNLLLossBackward, View(upstream.data(), {}), probs, labels, nullptr, 1, -100,
         View(total.data(), {}), View(grad.data(), {2, 3}));
  check_close(grad.read(), {0, 0, -0.5f, -0.5f, 0, 0});
  LAUNCH(aclnnLogSoftmaxBackward, View(grad.data(), {2, 3}), probs, 1, View(grad.data(), {2, 3}));
  check_close(grad.read(), {0.04501529f, 0.12236424f, -0.16737953f, -0.3333333f, 0.1666667f, 0.1666667f});
}

TEST("a class that does not exist is an error of the stream, named after the operator") {
  Floats probs({-1, -2}), target(2), loss(1), total(1);
  const int64_t wrong = 9;
  OK(aclrtMemcpy(target.data(), 8, &wrong, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  LAUNCH(aclnnNLLLoss, View(probs.data(), {1, 2}), View(target.data(), {1}, ACL_INT64), nullptr, 1, -100,
         View(loss.data(), {}), View(total.data(), {}));
  FAILS(aclrtSynchronizeStream(nullptr), 507035, "aclnnNLLLoss failed");
}

TEST("concatenation, ranges and copies of views") {
  Floats a({1, 2, 3, 4}), b({5, 6}), out(6), range(4);
  const int64_t sizes[2][2] = {{2, 2}, {2, 1}};
  aclTensor* parts[2];
  void* data[2] = {a.data(), b.data()};
  for (int i = 0; i < 2; ++i)
    parts[i] = aclCreateTensor(sizes[i], 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, sizes[i], 2, data[i]);
  aclTensorList* list = aclCreateTensorList(parts, 2);
  LAUNCH(aclnnCat, list, 1, View(out.data(), {2, 3}));
  aclDestroyTensorList(list);  // with its elements
  check_close(out.read(), {1, 2, 5, 3, 4, 6});
  LAUNCH(aclnnArange, Number(1.0), Number(3.0), Number(0.5), View(range.data(), {4}));
  check_close(range.read(), {1, 1.5f, 2, 2.5f});
  LAUNCH(aclnnInplaceCopy, View(out.data(), {3, 2}), View(a.data(), {2}, ACL_FLOAT, {1}, 2));
  check_close(out.read(), {3, 4, 3, 4, 3, 4});
}

TEST("random fills depend on seed and offset only, and stay in range") {
  Floats a(1000), b(1000);
  LAUNCH(aclnnInplaceUniform, View(a.data(), {1000}), 2.0, 3.0, uint64_t(7), uint64_t(0));
  LAUNCH(aclnnInplaceUniform, View(b.data(), {1000}), 2.0, 3.0, uint64_t(7), uint64_t(0));
  const Values first = a.read();
  CHECK(first == b.read());
  LAUNCH(aclnnInplaceUniform, View(b.data(), {1000}), 2.0, 3.0, uint64_t(7), uint64_t(1));
  const Values second = b.read();
  size_t equal = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i] >= 2 && first[i] < 3);
    for (size_t shift = 0; shift < 8 && i + shift < second.size(); ++shift)
      equal += first[i + shift] == second[i];
  }
  CHECK(equal < 10);
  LAUNCH(aclnnInplaceNormal, View(a.data(), {1000}), 5.0f, 2.0f, int64_t(1), int64_t(0));
  double mean = 0;
  for (const float value : a.read()) mean += value / 1000;
  CHECK(std::fabs(mean - 5) < 0.5);
  LAUNCH(aclnnInplaceBernoulli, View(a.data(), {1000}), Number(0.25), int64_t(1), int64_t(0));
  double ones = 0;
  for (const float value : a.read()) ones += value;
  CHECK(ones > 150 && ones < 350);
}

TEST("a random permutation has every number once") {
  Floats out(100);
  LAUNCH(aclnnRandperm, 100, 3, 0, View(out.data(), {100}));
  Values sorted = out.read();
  CHECK(sorted != Values(sorted.rbegin(), sorted.rend()));
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) CHECK_EQUAL(sorted[i], float(i));
}

TEST("bad arguments are refused in the first phase, with a message") {
  Floats a(6), out(6);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  View in(a.data(), {2, 3}), result(out.data(), {2, 3}), wrong(out.data(), {3, 2}), longer(out.data(), {17});
  FAILS(aclnnExpGetWorkspaceSize(nullptr, result, &size, &executor), 161001, "'self' is NULL");
  FAILS(aclnnExpGetWorkspaceSize(in, result, nullptr, &executor), 161001, "workspaceSize");
  FAILS(aclnnExpGetWorkspaceSize(in, wrong, &size, &executor), 161002, "[2, 3]");
  FAILS(aclnnExpGetWorkspaceSize(longer, longer, &size, &executor), 161002, "live device allocation");
  FAILS(aclnnMmGetWorkspaceSize(in, in, result, 0, &size, &executor), 161002, "cannot be multiplied");
  FAILS(aclnnSoftmaxGetWorkspaceSize(in, 2, result, &size, &executor), 161002, "dim 2");
  FAILS(aclnnAddGetWorkspaceSize(in, wrong, Number(1.0), result, &size, &executor), 161002, "broadcast");
  float host[6] = {};
  FAILS(aclnnExpGetWorkspaceSize(View(host, {6}), View(out.data(), {6}), &size, &executor), 161002,
        "host address");
  FAILS(aclnnExpGetWorkspaceSize(View(a.data(), {6}, ACL_STRING), View(out.data(), {6}), &size, &executor),
        161002, "data type 13");
}

TEST("an operator that is not implemented says its name") {
  Floats a(4);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  FAILS(aclnnAsinWithAgentGetWorkspaceSize(View(a.data(), {4}), View(a.data(), {4}), &size, &executor),
        561003, "aclnnAsinWithAgent: this operator is not implemented");
}

TEST("descriptors may go as soon as the second phase has returned") {
  Floats a({1, 2, 3, 4}), out(4);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  softnpu_gate(stream, 1);
  LAUNCH_ON(stream, aclnnNeg, View(a.data(), {4}), View(out.data(), {4}));
  for (int i = 0; i < 100; ++i) View(out.data(), {4});  // recycles the descriptors' memory
  softnpu_gate(stream, 0);
  OK(aclrtDestroyStream(stream));
  check_close(out.read(), {-1, -2, -3, -4});
}

TEST("a repeatable executor runs again, with new addresses") {
  Floats a({1, 2}), b({5, 6}), out(2), other(2);
  View in(a.data(), {2}), result(out.data(), {2});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnNegGetWorkspaceSize(in, result, &size, &executor));
  OK(aclSetAclOpExecutorRepeatable(executor));
  softnpu_gate(nullptr, 1);
  OK(aclnnNeg(nullptr, 0, executor, nullptr));
  OK(aclSetInputTensorAddr(executor, 0, in, b.data()));
  OK(aclSetOutputTensorAddr(executor, 0, result, other.data()));
  OK(aclnnNeg(nullptr, 0, executor, nullptr));
  FAILS(aclSetInputTensorAddr(executor, 1, in, b.data()), 161002, "no tensor at position 1");
  int local = 0;
  OK(aclSetTensorAddr(executor, 1, result, &local));
  FAILS(aclnnNeg(nullptr, 0, executor, nullptr), 161002, "live device memory");
  OK(aclDestroyAclOpExecutor(executor));
  softnpu_gate(nullptr, 0);
  check_close(out.read(), {-1, -2});
  check_close(other.read(), {-5, -6});
}

TEST("memory of another device is refused at the launch") {
  Floats a(4);
  OK(aclrtSetDevice(1));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnInplaceZeroGetWorkspaceSize(View(a.data(), {4}), &size, &executor));
  FAILS(aclnnInplaceZero(nullptr, size, executor, nullptr), 361001, "on device 0");
  OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
}

TEST("empty tensors are fine everywhere") {
  Floats out({7});
  View nothing(nullptr, {0, 3}), empty_row(nullptr, {0});
  LAUNCH(aclnnExp, nothing, nothing);
  LAUNCH(aclnnReduceSum, empty_row, nullptr, false, ACL_FLOAT, View(out.data(), {}));
  CHECK_EQUAL(out.read()[0], 0.0f);
}

TEST("what is not emulated is absent, and every operator of the table is there") {
  CHECK(dlsym(RTLD_DEFAULT, "aclrtDeviceGetStreamPriorityRange") == nullptr);
  CHECK(dlsym(RTLD_DEFAULT, "aclrtMalloc") != nullptr);
  for (const char* name :
       {"aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGetWorkspaceSize", "aclnnConvolution",
        "aclnnForeachAddListV2GetWorkspaceSize", "aclnnTransQuantParam"})
    CHECK(dlsym(RTLD_DEFAULT, name) != nullptr);
}

TEST("questions about a tensor are answered with arrays the caller deletes") {
  Floats a(6);
  View tensor(a.data(), {3, 2}, ACL_FLOAT, {1, 3}, 0);
  int64_t *sizes = nullptr, *strides = nullptr;
  uint64_t count = 0;
  OK(aclGetViewShape(tensor, &sizes, &count));
  CHECK_EQUAL(count, 2u);
  CHECK_EQUAL(sizes[0], 3);
  OK(aclGetViewStrides(tensor, &strides, &count));
  CHECK_EQUAL(strides[1], 3);
  delete[] sizes;
  delete[] strides;
  CHECK(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr) == nullptr);
  OK(aclDestroyTensor(nullptr));
}
