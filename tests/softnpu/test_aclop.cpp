// The old operator interface: its objects, and operators carried out by it.
#include <cmath>
#include <numeric>

#include "check.h"

namespace {

struct Argument {
  aclTensorDesc* desc;
  aclDataBuffer* buffer;

  Argument(aclDataType type, std::vector<int64_t> sizes, void* data, size_t bytes,
           aclMemType placement = ACL_MEMTYPE_DEVICE)
      : desc(aclCreateTensorDesc(type, int(sizes.size()), sizes.data(), ACL_FORMAT_ND)),
        buffer(aclCreateDataBuffer(data, bytes)) {
    OK(aclSetTensorPlaceMent(desc, placement));
  }
  Argument(const Argument&) = delete;
  ~Argument() {
    aclDestroyTensorDesc(desc);
    aclDestroyDataBuffer(buffer);
  }
};

// A shape or another list of integers, in the host's memory.
struct HostIntegers {
  std::vector<int64_t> values;
  Argument argument;
  explicit HostIntegers(std::vector<int64_t> given)
      : values(std::move(given)),
        argument(ACL_INT64, {int64_t(values.size())}, values.data(), values.size() * 8, ACL_MEMTYPE_HOST) {}
};

int execute(const char* type, std::vector<const Argument*> inputs, const Argument& output,
            const aclopAttr* attributes = nullptr) {
  std::vector<const aclTensorDesc*> descs;
  std::vector<const aclDataBuffer*> buffers;
  for (const Argument* input : inputs) descs.push_back(input->desc), buffers.push_back(input->buffer);
  const aclTensorDesc* out_desc = output.desc;
  aclDataBuffer* out_buffer = output.buffer;
  return aclopCompileAndExecute(type, int(inputs.size()), descs.data(), buffers.data(), 1, &out_desc,
                                &out_buffer, attributes, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
}

}  // namespace

TEST("a tensor description gives back what it was made of, and what was set") {
  const int64_t sizes[] = {2, 3, 4};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT16, 3, sizes, ACL_FORMAT_NCL);
  CHECK_EQUAL(int(aclGetTensorDescType(desc)), int(ACL_FLOAT16));
  CHECK_EQUAL(int(aclGetTensorDescFormat(desc)), int(ACL_FORMAT_NCL));
  CHECK_EQUAL(aclGetTensorDescNumDims(desc), 3u);
  CHECK_EQUAL(aclGetTensorDescElementCount(desc), 24u);
  CHECK_EQUAL(aclGetTensorDescSize(desc), 48u);
  int64_t size = 0;
  OK(aclGetTensorDescDimV2(desc, 2, &size));
  CHECK_EQUAL(size, 4);
  FAILS(aclGetTensorDescDimV2(desc, 3, &size), ACL_ERROR_INVALID_PARAM, "index is 3, wanted less than 3");
  aclSetTensorDescName(desc, "x");
  CHECK_EQUAL(std::string(aclGetTensorDescName(desc)), "x");
  int64_t range[2] = {0, 0};
  OK(aclGetTensorDescDimRange(desc, 1, 2, range));
  CHECK_EQUAL(range[1], 3);
  int64_t ranges[3][2] = {{1, 2}, {1, 9}, {4, 4}};
  OK(aclSetTensorShapeRange(desc, 3, ranges));
  OK(aclGetTensorDescDimRange(desc, 1, 2, range));
  CHECK_EQUAL(range[0] * 10 + range[1], 19);
  OK(aclSetTensorFormat(desc, ACL_FORMAT_FRACTAL_NZ));
  CHECK_EQUAL(int(aclGetTensorDescFormat(desc)), int(ACL_FORMAT_NCL));
  aclDestroyTensorDesc(desc);
}

TEST("a tensor description with impossible dimensions is not made") {
  const int64_t negative = -5;
  CHECK(aclCreateTensorDesc(ACL_FLOAT, 1, &negative, ACL_FORMAT_ND) == nullptr);
  CHECK(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND) == nullptr);
  CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, nullptr, ACL_FORMAT_ND) == nullptr);
  FAILS(aclSetTensorShape(nullptr, 0, nullptr), ACL_ERROR_INVALID_PARAM, "desc is NULL");
}

TEST("a data buffer gives back its address and size, also after an update") {
  int value = 0, other = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(&value, 4);
  CHECK_EQUAL(aclGetDataBufferAddr(buffer), static_cast<void*>(&value));
  OK(aclUpdateDataBuffer(buffer, &other, 3));
  CHECK_EQUAL(aclGetDataBufferAddr(buffer), static_cast<void*>(&other));
  CHECK_EQUAL(aclGetDataBufferSizeV2(buffer), 3u);
  OK(aclDestroyDataBuffer(buffer));
  FAILS(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM, "is NULL");
}

TEST("the old matrix product transposes as its attributes say and adds its bias") {
  Floats a({1, 2, 3, 4, 5, 6}), b({1, 0, 2, 1}), bias({10, 20}), out({0, 0, 0, 0, 0, 0});
  const Argument left(ACL_FLOAT, {2, 3}, a.data(), 24), right(ACL_FLOAT, {2, 2}, b.data(), 16);
  const Argument added(ACL_FLOAT, {2}, bias.data(), 8), result(ACL_FLOAT, {3, 2}, out.data(), 24);
  aclopAttr* attributes = aclopCreateAttr();
  OK(aclopSetAttrBool(attributes, "transpose_x1", 1));
  OK(aclopSetAttrBool(attributes, "transpose_x2", 0));
  OK(execute("MatMul", {&left, &right, &added}, result, attributes));
  aclopDestroyAttr(attributes);
  // [[1, 4], [2, 5], [3, 6]] times [[1, 0], [2, 1]], plus [10, 20]
  const std::vector<float> wanted = {19, 24, 22, 25, 25, 26};
  CHECK(out.read() == wanted);
}

TEST("a view copy writes only the view") {
  Floats from({1, 2, 3, 4}), to({0, 0, 0, 0, 0, 0});
  const Argument source(ACL_FLOAT, {4}, from.data(), 16), target(ACL_FLOAT, {6}, to.data(), 24);
  const HostIntegers sizes({2}), steps({3}), offset({1}), dense({1}), start({2});
  OK(execute("ViewCopy",
             {&target, &sizes.argument, &steps.argument, &offset.argument, &source, &sizes.argument,
              &dense.argument, &start.argument},
             target));
  const std::vector<float> wanted = {0, 3, 0, 0, 4, 0};
  CHECK(to.read() == wanted);
}

TEST("transpositions and slices of the old interface give what their numbers say") {
  Floats from({0, 1, 2, 3, 4, 5}), out(size_t(6)), part(size_t(2));
  const Argument source(ACL_FLOAT, {2, 3}, from.data(), 24), turned(ACL_FLOAT, {3, 2}, out.data(), 24);
  const HostIntegers order({1, 0}), begin({0, 0}), end({2, -1}), steps({1, 2}), rest({-1, 1});
  OK(execute("Transpose", {&source, &order.argument}, turned));
  const std::vector<float> transposed = {0, 3, 1, 4, 2, 5}, first_column = {0, 3};
  CHECK(out.read() == transposed);
  const Argument column(ACL_FLOAT, {2, 1}, part.data(), 8);
  OK(execute("StridedSlice", {&source, &begin.argument, &end.argument, &steps.argument}, column));
  CHECK(part.read() == first_column);
  OK(execute("Slice", {&source, &begin.argument, &rest.argument}, column));
  CHECK(part.read() == first_column);
  FAILS(execute("Slice", {&source, &begin.argument, &end.argument}, column), ACLNN_ERR_PARAM_INVALID,
        "cannot be broadcast");
  const HostIntegers wrong({0, 7});
  FAILS(execute("Transpose", {&source, &wrong.argument}, turned), ACL_ERROR_INVALID_PARAM, "no dimension 7");
}

TEST("old random numbers depend on key and counter only") {
  Floats first(size_t(4096)), again(size_t(4096)), other(size_t(4096));
  const HostIntegers shape({4096}), key({7}), counter({0, 3}), next({0, 4}), algorithm({1});
  auto normal = [&](Floats& out, const HostIntegers& at) {
    const Argument result(ACL_FLOAT, {4096}, out.data(), 4096 * 4);
    OK(execute("StatelessRandomNormalV2", {&shape.argument, &key.argument, &at.argument, &algorithm.argument},
               result));
  };
  normal(first, counter), normal(again, counter), normal(other, next);
  const std::vector<float> values = first.read();
  CHECK(values == again.read());
  CHECK(values != other.read());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 4096;
  CHECK(std::abs(mean) < 0.1);
}

TEST("an unknown operator of the old interface is refused by name") {
  Floats data({1});
  const Argument only(ACL_FLOAT, {1}, data.data(), 4);
  FAILS(execute("NoSuchOperator", {&only}, only), ACL_ERROR_OP_NOT_FOUND, "operator NoSuchOperator");
  FAILS(execute("AsStrided", {&only}, only), ACL_ERROR_INVALID_PARAM, "has 1 inputs");
}

TEST("compile options are kept, and their size counts the terminating zero") {
  CHECK_EQUAL(aclGetCompileoptSize(ACL_OP_JIT_COMPILE), sizeof "disable");
  OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "enable"));
  char value[16];
  OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof value));
  CHECK_EQUAL(std::string(value), "enable");
  FAILS(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, 3), ACL_ERROR_INVALID_PARAM, "wanted room for 7");
  OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "disable"));
  FAILS(aclSetCompileopt(aclCompileOpt(99), ""), ACL_ERROR_INVALID_PARAM, "option is 99");
}

TEST("dumps and kernel launches say that they are not emulated") {
  FAILS(aclmdlInitDump(), ACL_ERROR_FEATURE_UNSUPPORTED, "does not emulate");
  FAILS(rtKernelLaunch(nullptr, 1, nullptr, 0, nullptr, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
        "does not emulate");
}
