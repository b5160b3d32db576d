// Dtypes are refused in the first phase, as CANN does: what an operator accepts there runs on the stream.
#include "check.h"

namespace {

constexpr aclDataType kTypes[] = {ACL_BOOL,  ACL_UINT8,  ACL_INT8,   ACL_INT16,     ACL_INT32,
                                  ACL_INT64, ACL_UINT16, ACL_UINT32, ACL_UINT64,    ACL_FLOAT16,
                                  ACL_BF16,  ACL_FLOAT,  ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128};
// One of each category, to stand beside every type.
constexpr aclDataType kPartners[] = {ACL_BOOL, ACL_INT64, ACL_FLOAT, ACL_COMPLEX64};

constexpr int64_t kIgnored = 0x0101010101010101;  // what int64 labels read as

// Tensors of one combination of dtypes; every byte of their memory is 1, which is no zero and a valid bool.
struct Tensors {
  aclTensor *a, *b, *out;                    // [4, 4]
  aclTensor *a_batch, *b_batch, *out_batch;  // [2, 2, 4] with [2, 4, 2] into [2, 2, 2]
  aclTensor *b_element, *out_element;        // []
  aclTensor *out_row, *labels, *indices;     // [4]; [4] of int64, twice
  aclScalar *integer, *real;
};

struct Operator {
  const char* name;
  aclnnStatus (*plan)(const Tensors& t, uint64_t* size, aclOpExecutor** executor);
  aclnnStatus (*launch)(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream);
};

#define OPERATOR(op, ...)                                                \
  Operator {                                                             \
    #op,                                                                 \
        [](const Tensors& t, uint64_t* size, aclOpExecutor** executor) { \
          return op##GetWorkspaceSize(__VA_ARGS__, size, executor);      \
        },                                                               \
        op                                                               \
  }
#define UNARY(op) OPERATOR(op, t.a, t.out)
#define BINARY(op) OPERATOR(op, t.a, t.b, t.out)
#define WITH_INTEGER(op) OPERATOR(op, t.a, t.integer, t.out)
#define WITH_REAL(op) OPERATOR(op, t.a, t.real, t.out)

// Those that refuse some combination; copies, fills and casts take all.
const Operator kOperators[] = {
    UNARY(aclnnNeg),
    UNARY(aclnnAbs),
    UNARY(aclnnExp),
    UNARY(aclnnExpm1),
    UNARY(aclnnLog),
    UNARY(aclnnLog1p),
    UNARY(aclnnSqrt),
    UNARY(aclnnRsqrt),
    UNARY(aclnnReciprocal),
    UNARY(aclnnSquare),
    UNARY(aclnnSin),
    UNARY(aclnnCos),
    UNARY(aclnnTanh),
    UNARY(aclnnSigmoid),
    UNARY(aclnnRelu),
    UNARY(aclnnErf),
    UNARY(aclnnSign),
    UNARY(aclnnFloor),
    UNARY(aclnnCeil),
    UNARY(aclnnRound),
    UNARY(aclnnTrunc),
    UNARY(aclnnBitwiseNot),
    UNARY(aclnnLogicalNot),
    WITH_INTEGER(aclnnClampMin),
    WITH_REAL(aclnnClampMax),
    OPERATOR(aclnnClamp, t.a, t.integer, t.real, t.out),
    OPERATOR(aclnnClamp, t.a, nullptr, t.real, t.out),
    OPERATOR(aclnnInplaceExp, t.out),
    OPERATOR(aclnnInplaceBitwiseAndTensor, t.out, t.b),
    OPERATOR(aclnnAdd, t.a, t.b, t.real, t.out),
    OPERATOR(aclnnSub, t.a, t.b, t.integer, t.out),
    BINARY(aclnnMul),
    BINARY(aclnnDiv),
    WITH_INTEGER(aclnnDivs),
    BINARY(aclnnPowTensorTensor),
    WITH_INTEGER(aclnnPowTensorScalar),
    OPERATOR(aclnnPowScalarTensor, t.integer, t.a, t.out),
    BINARY(aclnnMaximum),
    BINARY(aclnnMinimum),
    BINARY(aclnnRemainderTensorTensor),
    WITH_REAL(aclnnRemainderTensorScalar),
    BINARY(aclnnFmodTensor),
    WITH_INTEGER(aclnnFmodScalar),
    BINARY(aclnnFloorDivide),
    WITH_REAL(aclnnFloorDivides),
    BINARY(aclnnAtan2),
    BINARY(aclnnBitwiseAndTensor),
    WITH_INTEGER(aclnnBitwiseAndScalar),
    BINARY(aclnnBitwiseOrTensor),
    WITH_INTEGER(aclnnBitwiseOrScalar),
    BINARY(aclnnBitwiseXorTensor),
    WITH_INTEGER(aclnnBitwiseXorScalar),
    OPERATOR(aclnnThresholdBackward, t.a, t.b, t.real, t.out),
    BINARY(aclnnTanhBackward),
    BINARY(aclnnSigmoidBackward),
    BINARY(aclnnEqTensor),
    BINARY(aclnnLtTensor),
    WITH_INTEGER(aclnnLeScalar),
    WITH_REAL(aclnnGtScalar),
    BINARY(aclnnGeTensor),
    BINARY(aclnnLogicalAnd),
    BINARY(aclnnLogicalOr),
    BINARY(aclnnLogicalXor),
    OPERATOR(aclnnReduceSum, t.a, nullptr, false, ACL_FLOAT, t.out_element),
    OPERATOR(aclnnMean, t.a, nullptr, false, ACL_FLOAT, t.out_element),
    OPERATOR(aclnnAmax, t.a, nullptr, false, t.out_element),
    OPERATOR(aclnnAmin, t.a, nullptr, false, t.out_element),
    OPERATOR(aclnnAny, t.a, nullptr, false, t.out_element),
    OPERATOR(aclnnAll, t.a, nullptr, false, t.out_element),
    OPERATOR(aclnnMax, t.a, t.out_element),
    OPERATOR(aclnnMin, t.a, t.out_element),
    OPERATOR(aclnnArgMax, t.a, 0, false, t.out_row),
    OPERATOR(aclnnArgMin, t.a, 0, false, t.out_row),
    OPERATOR(aclnnMaxDim, t.a, 0, false, t.out_row, t.indices),
    OPERATOR(aclnnMinDim, t.a, 0, false, t.out_row, t.indices),
    OPERATOR(aclnnMm, t.a, t.b, t.out, int8_t(0)),
    OPERATOR(aclnnMatmul, t.a, t.b, t.out, int8_t(0)),
    OPERATOR(aclnnBatchMatMul, t.a_batch, t.b_batch, t.out_batch, int8_t(0)),
    OPERATOR(aclnnAddmm, t.b, t.a, t.a, t.real, t.integer, t.out, int8_t(0)),
    OPERATOR(aclnnInplaceAddmm, t.out, t.a, t.b, t.integer, t.real, int8_t(0)),
    OPERATOR(aclnnBaddbmm, t.b_element, t.a_batch, t.b_batch, t.real, t.real, t.out_batch, int8_t(0)),
    OPERATOR(aclnnSoftmax, t.a, 1, t.out),
    OPERATOR(aclnnLogSoftmax, t.a, 1, t.out),
    OPERATOR(aclnnSoftmaxBackward, t.a, t.b, 1, t.out),
    OPERATOR(aclnnLogSoftmaxBackward, t.a, t.b, 1, t.out),
    OPERATOR(aclnnNLLLoss, t.a, t.labels, nullptr, 1, kIgnored, t.out_element, t.out_element),
    OPERATOR(aclnnNLLLossBackward, t.b_element, t.a, t.labels, nullptr, 1, kIgnored, t.out_element, t.out),
    OPERATOR(aclnnSWhere, t.a, t.b, t.out, t.out),
    OPERATOR(aclnnArange, t.integer, t.real, t.integer, t.out_row),
    OPERATOR(aclnnInplaceUniform, t.out, 0.0, 1.0, uint64_t(1), uint64_t(0)),
    OPERATOR(aclnnInplaceNormal, t.out, 0.0f, 1.0f, int64_t(1), int64_t(0)),
    OPERATOR(aclnnInplaceBernoulli, t.out, t.integer, int64_t(1), int64_t(0)),
    OPERATOR(aclnnInplaceRandom, t.out, int64_t(0), int64_t(9), int64_t(1), int64_t(0)),
    OPERATOR(aclnnRandperm, 4, 1, 0, t.out_row),
};

constexpr size_t kFloats = 64;  // room for 16 complex128

struct Memory {
  Floats a = Floats(kFloats), b = Floats(kFloats), out = Floats(kFloats), index = Floats(kFloats);
  Memory() {
    for (Floats* buffer : {&a, &b, &index})
      OK(aclrtMemset(buffer->data(), buffer->bytes(), 1, buffer->bytes()));
  }
};

struct Count {
  int accepted = 0, refused = 0;
};

void try_operator(const Operator& op, const Tensors& tensors, Floats& out, Count& count) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclrtMemset(out.data(), out.bytes(), 1, out.bytes()));
  const int code = op.plan(tensors, &size, &executor);
  if (code != 0) {
    ++count.refused;
    FAILS(code, 161002, std::string(op.name) + ": ");
    return;
  }
  ++count.accepted;
  OK(op.launch(nullptr, size, executor, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
}

// Calls `visit` with every type for `a`, and for `b` and `out` the same or one of another category.
template <class Visit>
void for_each_combination(const Visit& visit) {
  for (const aclDataType a : kTypes) {
    for (int b = -1; b < int(std::size(kPartners)); ++b)
      for (int out = -1; out < int(std::size(kPartners)); ++out)
        visit(a, b < 0 ? a : kPartners[b], out < 0 ? a : kPartners[out]);
  }
}

uint64_t ignored_size;
aclOpExecutor* ignored_executor;
#define PLAN(op, ...) op##GetWorkspaceSize(__VA_ARGS__, &ignored_size, &ignored_executor)
#define REFUSES(text, op, ...) FAILS(PLAN(op, __VA_ARGS__), 161002, text)

}  // namespace

TEST("whatever combination of dtypes the first phase accepts runs on the stream") {
  Memory memory;
  Number integer(int64_t(1)), real(4.5);
  std::vector<Count> counts(std::size(kOperators));
  for_each_combination([&](aclDataType a, aclDataType b, aclDataType out) {
    void *const at_a = memory.a.data(), *const at_b = memory.b.data(), *const at_out = memory.out.data();
    const View whole_a(at_a, {4, 4}, a), whole_b(at_b, {4, 4}, b), whole_out(at_out, {4, 4}, out),
        a_batch(at_a, {2, 2, 4}, a), b_batch(at_b, {2, 4, 2}, b), out_batch(at_out, {2, 2, 2}, out),
        b_element(at_b, {}, b), out_element(at_out, {}, out), out_row(at_out, {4}, out),
        labels(memory.index.data(), {4}, ACL_INT64), indices(memory.index.data(), {4}, ACL_INT64, {1}, 4);
    const Tensors tensors{whole_a,     whole_b, whole_out, a_batch, b_batch, out_batch, b_element,
                          out_element, out_row, labels,    indices, integer, real};
    for (size_t i = 0; i < counts.size(); ++i) try_operator(kOperators[i], tensors, memory.out, counts[i]);
  });
  // Neither side is empty: the operator was really asked, and really chooses.
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i].accepted == 0 || counts[i].refused == 0)
      throw CheckFailed(std::string(kOperators[i].name) + " accepted " + std::to_string(counts[i].accepted) +
                        " combinations and refused " + std::to_string(counts[i].refused));
}

TEST("copies, fills and casts take every dtype") {
  Memory memory;
  Number number(3.0);
  for_each_combination([&](aclDataType a, aclDataType, aclDataType out) {
    const View from(memory.a.data(), {16}, a), to(memory.out.data(), {16}, out);
    LAUNCH(aclnnInplaceCopy, to, from);
    LAUNCH(aclnnCast, from, out, to);
    LAUNCH(aclnnInplaceFillScalar, to, number);
    LAUNCH(aclnnInplaceZero, to);
    LAUNCH(aclnnInplaceOne, to);
    OK(aclrtSynchronizeStream(nullptr));
  });
}

TEST("a refused dtype is reported with the functor, the operands and the dtypes wanted") {
  Memory memory;
  Number half(0.5);
  const View floats(memory.a.data(), {4}), whole(memory.b.data(), {4}, ACL_INT32),
      bools(memory.b.data(), {4}, ACL_BOOL);
  REFUSES(
      "aclnnBitwiseAndTensor: \"bitwise_and\" not implemented for 'Float': tensor 'self' is float32 and "
      "tensor 'other' is int32, which meet in float32, wanted uint8, int8, int16, int32, int64 or bool",
      aclnnBitwiseAndTensor, floats, whole, floats);
  REFUSES("tensor 'self' is int32 and scalar 'other' is a floating number, which meet in float32",
          aclnnBitwiseOrScalar, whole, half, whole);
  REFUSES("\"tanh_backward\" not implemented for 'Int': tensor 'gradOutput' is int32 and tensor 'output' is",
          aclnnTanhBackward, whole, whole, whole);
  REFUSES("\"square\" not implemented for 'Bool': tensor 'self' is bool and 'out' is bool, wanted uint8",
          aclnnSquare, bools, bools);
  REFUSES("\"mean\" not implemented for 'Int': tensor 'self' is int32 and 'out' is int32, wanted float16",
          aclnnMean, whole, nullptr, true, ACL_INT32, View(memory.out.data(), {1}, ACL_INT32));
}

TEST("operators written by hand say which tensor has the wrong dtype") {
  Memory memory;
  Number zero(int64_t(0)), four(int64_t(4)), one(int64_t(1));
  void* const data = memory.a.data();
  const View bools(data, {2, 2}, ACL_BOOL), whole(data, {2, 2}, ACL_INT64), floats(data, {2, 2}),
      doubles(data, {2, 2}, ACL_DOUBLE), complex_row(data, {2}, ACL_COMPLEX64),
      labels(memory.index.data(), {2}, ACL_INT64), loss(memory.out.data(), {}),
      index(memory.out.data(), {}, ACL_INT64);
  REFUSES("aclnnMm: not implemented for 'Bool': tensor 'self' is bool, wanted uint8", aclnnMm, bools, bools,
          bools, int8_t(0));
  REFUSES("tensor 'mat1' is bool", aclnnAddmm, bools, bools, bools, one, one, bools, int8_t(0));
  REFUSES("tensor 'self' is int64, wanted float16, float32, float64 or bfloat16", aclnnSoftmax, whole, 1,
          floats);
  REFUSES("tensor 'out' is int64", aclnnLogSoftmax, floats, 1, whole);
  REFUSES("tensor 'output' is int64", aclnnSoftmaxBackward, floats, whole, 1, floats);
  REFUSES("tensor 'target' is float32", aclnnNLLLoss, floats, View(data, {2}), nullptr, 1, -100, loss, loss);
  REFUSES("tensor 'weight' is int32 but 'self' is float32", aclnnNLLLoss, floats, labels,
          View(data, {2}, ACL_INT32), 1, -100, loss, loss);
  REFUSES("tensor 'out' is float64 but 'self' is float32", aclnnNLLLossBackward, loss, floats, labels,
          nullptr, 1, -100, loss, doubles);
  REFUSES("tensor 'self' is complex64", aclnnArgMax, complex_row, 0, false, index);
  REFUSES("tensor 'out' is float32, wanted int64", aclnnArgMax, View(data, {2}), 0, false, loss);
  REFUSES("tensor 'out' is bool", aclnnArange, zero, four, one, View(memory.out.data(), {4}, ACL_BOOL));
  REFUSES("tensor 'condition' is float32, wanted uint8 or bool", aclnnSWhere, floats, floats, floats, floats);
  REFUSES("tensor 'selfRef' is int64", aclnnInplaceUniform, whole, 0.0, 1.0, uint64_t(1), uint64_t(0));
  REFUSES("tensor 'selfRef' is complex64", aclnnInplaceRandom, complex_row, int64_t(0), int64_t(9),
          int64_t(1), int64_t(0));
}

TEST("a product without elements may be of any dtype") {
  Memory memory;
  const View none(memory.a.data(), {0, 3}, ACL_BOOL), right(memory.b.data(), {3, 2}, ACL_BOOL),
      some(memory.a.data(), {1, 3}, ACL_BOOL);
  LAUNCH(aclnnMm, none, right, View(memory.out.data(), {0, 2}, ACL_BOOL), int8_t(0));
  OK(aclrtSynchronizeStream(nullptr));
  REFUSES("tensor 'self' is bool", aclnnMm, some, right, View(memory.out.data(), {1, 2}, ACL_BOOL),
          int8_t(0));
}

TEST("a result dtype can admit an input that is foreign to the functor") {
  Memory memory;
  const View whole(memory.a.data(), {2}, ACL_INT64);
  Floats out(2), mean(1);
  const int64_t values[2] = {0, 1};
  OK(aclrtMemcpy(memory.a.data(), 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  REFUSES("\"exp\" not implemented for 'Long'", aclnnExp, whole, View(memory.out.data(), {2}, ACL_INT64));
  LAUNCH(aclnnExp, whole, View(out.data(), {2}));
  CHECK_EQUAL(out.read()[0], 1.0f);
  LAUNCH(aclnnMean, whole, nullptr, false, ACL_FLOAT, View(mean.data(), {}));
  CHECK_EQUAL(mean.read()[0], 0.5f);
}

TEST("integer division by zero is found by the device, not by the first phase") {
  Memory memory;
  const View ones(memory.a.data(), {4}, ACL_INT32), zeros(memory.b.data(), {4}, ACL_INT32),
      out(memory.out.data(), {4}, ACL_INT32);
  OK(aclrtMemset(memory.b.data(), memory.b.bytes(), 0, memory.b.bytes()));
  LAUNCH(aclnnFloorDivide, ones, zeros, out);
  FAILS(aclrtSynchronizeStream(nullptr), 507035, "aclnnFloorDivide failed");
  LAUNCH(aclnnRemainderTensorTensor, ones, zeros, out);
  FAILS(aclrtSynchronizeStream(nullptr), 507035, "aclnnRemainderTensorTensor failed");
}
