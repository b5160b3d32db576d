// aclTensor, aclScalar, arrays and lists: creation, destruction, questions.
#include "nnopbase/object_pool.h"
#include "nnopbase/objects.h"
#include "runtime/element_size.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

constexpr uint64_t kMaxDims =
    64;  // far beyond what any operator takes; keeps a garbage count from being believed

[[gnu::always_inline]] inline bool fill_tensor(const char* function, aclTensor* tensor, const int64_t* sizes,
                                               uint64_t ndim, aclDataType type, const int64_t* strides,
                                               int64_t offset, aclFormat format, const int64_t* storage,
                                               uint64_t storage_ndim, void* data) {
  if ((sizes == nullptr && ndim != 0) || (storage == nullptr && storage_ndim != 0)) {
    fail(ACLNN_ERR_PARAM_NULLPTR, function, ": dimensions are NULL but their number is ", ndim, " and ",
         storage_ndim);
    return false;
  }
  if (ndim > kMaxDims || storage_ndim > kMaxDims) {
    fail(ACLNN_ERR_PARAM_INVALID, function, ": ", std::max(ndim, storage_ndim),
         " dimensions, wanted at most ", kMaxDims);
    return false;
  }
  tensor->sizes.assign(sizes, ndim);
  if (strides != nullptr) tensor->strides.assign(strides, ndim);
  else tensor->strides.assign_contiguous(sizes, ndim);
  tensor->storage_sizes.assign(storage, storage_ndim);
  tensor->offset = offset;
  tensor->type = type;
  tensor->format = format;
  tensor->data = data;
  tensor->late.reset();
  return true;
}

// Questions about the shape of a result come after the operator that found it.
const aclTensor* up_to_date(const aclTensor* tensor) {
  if (tensor != nullptr && tensor->late) const_cast<aclTensor*>(tensor)->adopt_late_shape();
  return tensor;
}

aclnnStatus missing(const char* function) {
  return fail(ACLNN_ERR_PARAM_NULLPTR, function, ": an argument is NULL");
}

// The caller frees the copy with delete[], as with the real library.
aclnnStatus copy_dims(const char* function, const Dims* dims, int64_t** values, uint64_t* count) {
  if (dims == nullptr || values == nullptr || count == nullptr) return missing(function);
  *values = new int64_t[std::max<uint64_t>(dims->size(), 1)];
  std::copy_n(dims->data(), dims->size(), *values);
  *count = dims->size();
  return ACLNN_SUCCESS;
}

template <class Array>
aclnnStatus array_size(const char* function, const Array* array, uint64_t* size) {
  if (array == nullptr || size == nullptr) return missing(function);
  *size = array->values.size();
  return ACLNN_SUCCESS;
}

template <class Array, class Value>
Array* create_array(const char* function, const Value* values, uint64_t size) {
  if (values == nullptr && size != 0) {
    missing(function);
    return nullptr;
  }
  auto* array = new Array;
  array->values.assign(values, values + size);
  return array;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                          const int64_t* stride, int64_t offset, aclFormat format,
                                          const int64_t* storageDims, uint64_t storageDimsNum,
                                          void* tensorData) {
  SOFTNPU_ENTER_POINTER(aclCreateTensor, viewDimsNum, dataType, offset, tensorData);
  aclTensor* tensor = ObjectPool<aclTensor>::create();
  if (fill_tensor("aclCreateTensor", tensor, viewDims, viewDimsNum, dataType, stride, offset, format,
                  storageDims, storageDimsNum, tensorData))
    return tensor;
  ObjectPool<aclTensor>::destroy(tensor);
  return nullptr;
}

SOFTNPU_EXPORT aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                                         aclDataType dataType, const int64_t* stride, int64_t offset,
                                         aclFormat format, const int64_t* storageDims,
                                         uint64_t storageDimsNum, void* tensorDataAddr) {
  SOFTNPU_ENTER(aclInitTensor, tensor);
  if (tensor == nullptr) return missing("aclInitTensor");
  return fill_tensor("aclInitTensor", tensor, viewDims, viewDimsNum, dataType, stride, offset, format,
                     storageDims, storageDimsNum, tensorDataAddr)
             ? ACLNN_SUCCESS
             : ACLNN_ERR_PARAM_INVALID;
}

SOFTNPU_EXPORT aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyTensor, tensor);
  if (tensor != nullptr) ObjectPool<aclTensor>::destroy(const_cast<aclTensor*>(tensor));
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  SOFTNPU_ENTER_POINTER(aclCreateScalar, dataType);
  const int bits = element_bits(dataType);
  if (value == nullptr || bits < 8) {
    fail(value == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID, "aclCreateScalar: value is ",
         value, ", type is ", int(dataType), "; wanted a value of a type of whole bytes");
    return nullptr;
  }
  aclScalar* scalar = ObjectPool<aclScalar>::create();
  scalar->type = dataType;
  std::memcpy(scalar->value, value, size_t(bits / 8));
  return scalar;
}

SOFTNPU_EXPORT aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyScalar, scalar);
  if (scalar != nullptr) ObjectPool<aclScalar>::destroy(const_cast<aclScalar*>(scalar));
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateIntArray, size);
  if (value == nullptr && size != 0) {
    missing("aclCreateIntArray");
    return nullptr;
  }
  aclIntArray* array = ObjectPool<aclIntArray>::create();
  array->values.assign(value, size);
  return array;
}

SOFTNPU_EXPORT aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyIntArray, array);
  if (array != nullptr) ObjectPool<aclIntArray>::destroy(const_cast<aclIntArray*>(array));
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateFloatArray, size);
  return create_array<aclFloatArray>("aclCreateFloatArray", value, size);
}

SOFTNPU_EXPORT aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyFloatArray, array);
  delete array;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateBoolArray, size);
  return create_array<aclBoolArray>("aclCreateBoolArray", value, size);
}

SOFTNPU_EXPORT aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyBoolArray, array);
  delete array;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateTensorList, size);
  return create_array<aclTensorList>("aclCreateTensorList", const_cast<aclTensor* const*>(value), size);
}

SOFTNPU_EXPORT aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyTensorList, array);
  if (array == nullptr) return ACLNN_SUCCESS;
  for (aclTensor* tensor : array->values)  // a list owns its elements
    if (tensor != nullptr) ObjectPool<aclTensor>::destroy(tensor);
  delete array;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateScalarList, size);
  return create_array<aclScalarList>("aclCreateScalarList", const_cast<aclScalar* const*>(value), size);
}

SOFTNPU_EXPORT aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyScalarList, array);
  if (array == nullptr) return ACLNN_SUCCESS;
  for (aclScalar* scalar : array->values)
    if (scalar != nullptr) ObjectPool<aclScalar>::destroy(scalar);
  delete array;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims,
                                           uint64_t* viewDimsNum) {
  SOFTNPU_ENTER(aclGetViewShape, tensor);
  return copy_dims("aclGetViewShape", up_to_date(tensor) == nullptr ? nullptr : &tensor->sizes, viewDims,
                   viewDimsNum);
}

SOFTNPU_EXPORT aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                                              uint64_t* storageDimsNum) {
  SOFTNPU_ENTER(aclGetStorageShape, tensor);
  return copy_dims("aclGetStorageShape", tensor == nullptr ? nullptr : &tensor->storage_sizes, storageDims,
                   storageDimsNum);
}

SOFTNPU_EXPORT aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                                             uint64_t* stridesNum) {
  SOFTNPU_ENTER(aclGetViewStrides, tensor);
  return copy_dims("aclGetViewStrides", up_to_date(tensor) == nullptr ? nullptr : &tensor->strides,
                   stridesValue, stridesNum);
}

SOFTNPU_EXPORT aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  SOFTNPU_ENTER(aclGetViewOffset, tensor);
  if (tensor == nullptr || offset == nullptr) return missing("aclGetViewOffset");
  *offset = tensor->offset;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  SOFTNPU_ENTER(aclGetFormat, tensor);
  if (tensor == nullptr || format == nullptr) return missing("aclGetFormat");
  *format = tensor->format;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  SOFTNPU_ENTER(aclGetDataType, tensor);
  if (tensor == nullptr || dataType == nullptr) return missing("aclGetDataType");
  *dataType = tensor->type;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  SOFTNPU_ENTER(aclGetRawTensorAddr, tensor);
  if (tensor == nullptr || addr == nullptr) return missing("aclGetRawTensorAddr");
  *addr = tensor->data;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  SOFTNPU_ENTER(aclSetRawTensorAddr, tensor, addr);
  if (tensor == nullptr) return missing("aclSetRawTensorAddr");
  tensor->data = addr;
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  SOFTNPU_ENTER(aclGetIntArraySize, array);
  return array_size("aclGetIntArraySize", array, size);
}

SOFTNPU_EXPORT aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  SOFTNPU_ENTER(aclGetFloatArraySize, array);
  return array_size("aclGetFloatArraySize", array, size);
}

SOFTNPU_EXPORT aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  SOFTNPU_ENTER(aclGetBoolArraySize, array);
  return array_size("aclGetBoolArraySize", array, size);
}

SOFTNPU_EXPORT aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  SOFTNPU_ENTER(aclGetTensorListSize, tensorList);
  return array_size("aclGetTensorListSize", tensorList, size);
}

SOFTNPU_EXPORT aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  SOFTNPU_ENTER(aclGetScalarListSize, scalarList);
  return array_size("aclGetScalarListSize", scalarList, size);
}

SOFTNPU_EXPORT aclnnStatus aclnnInit(const char* configPath) {
  SOFTNPU_ENTER(aclnnInit, configPath);
  return ACLNN_SUCCESS;
}

SOFTNPU_EXPORT aclnnStatus aclnnFinalize(void) {
  SOFTNPU_ENTER_CLEANUP(aclnnFinalize);
  return ACLNN_SUCCESS;
}
