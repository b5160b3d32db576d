#include "check.h"

namespace {

std::vector<int64_t> shape_of(const aclTensor* tensor) {
  int64_t* sizes = nullptr;
  uint64_t count = 0;
  OK(aclGetViewShape(tensor, &sizes, &count));
  const std::vector<int64_t> shape(sizes, sizes + count);
  delete[] sizes;
  return shape;
}

// A list that owns its tensors.
struct Tensors {
  explicit Tensors(std::vector<const aclTensor*> tensors)
      : handle(aclCreateTensorList(tensors.data(), tensors.size())) {}
  Tensors(const Tensors&) = delete;
  ~Tensors() { aclDestroyTensorList(handle); }
  aclTensorList* handle;
};

const aclTensor* tensor_of(void* data, std::vector<int64_t> sizes, aclDataType type) {
  return aclCreateTensor(sizes.data(), sizes.size(), type, nullptr, 0, ACL_FORMAT_ND, sizes.data(),
                         sizes.size(), data);
}

}  // namespace

TEST("the shape that an operator finds is read from the handle once the stream has caught up") {
  Floats x({0, 3, 0, 5, 7, 0}), places(24);
  View out(places.data(), {6, 2}, ACL_INT64);
  LAUNCH(aclnnNonzero, View(x.data(), {2, 3}), out);
  OK(aclrtSynchronizeStream(nullptr));
  CHECK((shape_of(out) == std::vector<int64_t>{3, 2}));
  // The same handle as an operand has the shape that was found.
  Floats numbers(6);
  LAUNCH(aclnnCast, out, ACL_FLOAT, View(numbers.data(), {3, 2}));
  CHECK((numbers.read() == std::vector<float>{0, 1, 1, 0, 1, 1}));
}

TEST("a handle destroyed before its shape is found leaves others alone") {
  Floats x({0, 3, 0, 5, 7, 0}), places(24), other(4);
  softnpu_gate(nullptr, 1);
  { LAUNCH(aclnnNonzero, View(x.data(), {2, 3}), View(places.data(), {6, 2}, ACL_INT64)); }
  View next(other.data(), {2, 2});  // likely in the memory of the one just destroyed
  softnpu_gate(nullptr, 0);
  OK(aclrtSynchronizeStream(nullptr));
  CHECK((shape_of(next) == std::vector<int64_t>{2, 2}));
}

TEST("room too small for what is found is an error of the stream") {
  Floats x({1, 3, 2, 5}), places(4);
  LAUNCH(aclnnNonzero, View(x.data(), {4}), View(places.data(), {2, 1}, ACL_INT64));
  FAILS(aclrtSynchronizeStream(nullptr), 507035, "does not fit");
}

TEST("an index out of range is an error of the stream, named after the operator") {
  Floats x({1, 2, 3}), index({0, 0}), out(1);
  const int64_t far = 7;
  OK(aclrtMemcpy(index.data(), 8, &far, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  LAUNCH(aclnnIndexSelect, View(x.data(), {3}), 0, View(index.data(), {1}, ACL_INT64), View(out.data(), {1}));
  FAILS(aclrtSynchronizeStream(nullptr), 507035, "aclnnIndexSelect failed");
}

TEST("operators through indices refuse shapes that do not belong together") {
  Floats x(6), index(8), out(6);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  View table(x.data(), {2, 3}), at(index.data(), {4}, ACL_INT64), result(out.data(), {2, 3});
  FAILS(aclnnIndexSelectGetWorkspaceSize(table, 1, at, result, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "wanted [2, 4]");
  FAILS(aclnnIndexSelectGetWorkspaceSize(table, 2, at, result, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "dim 2 is out of range");
  FAILS(aclnnIndexSelectGetWorkspaceSize(table, 0, nullptr, result, &size, &executor),
        ACLNN_ERR_PARAM_NULLPTR, "'index' is NULL");
  View wide(index.data(), {1, 4}, ACL_INT64), row(out.data(), {1, 4});
  FAILS(aclnnGatherGetWorkspaceSize(table, 0, wide, row, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "larger than 'self'");
  FAILS(aclnnScatterGetWorkspaceSize(table, 0, at, at, 3, result, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "reduce is 3");
  Tensors many({tensor_of(index.data(), {1}, ACL_INT64), tensor_of(index.data(), {1}, ACL_INT64),
                tensor_of(index.data(), {1}, ACL_INT64)});
  FAILS(aclnnIndexGetWorkspaceSize(table, many.handle, result, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "too many indices");
}

TEST("cubeMathType is 0 to 3") {
  Floats a(4), out(4);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  View matrix(a.data(), {2, 2}), result(out.data(), {2, 2});
  FAILS(aclnnMmGetWorkspaceSize(matrix, matrix, result, 4, &size, &executor), ACLNN_ERR_PARAM_INVALID,
        "cubeMathType is 4");
}
