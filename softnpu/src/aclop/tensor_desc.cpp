// aclTensorDesc and aclDataBuffer: creation, destruction, settings, questions.
#include <algorithm>

#include "aclop/objects.h"
#include "runtime/element_size.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

constexpr int kMaxDims = 64;  // keeps a garbage count from being believed

bool check_sizes(const char* function, int count, const int64_t* sizes) {
  if (count < 0 || count > kMaxDims || (count > 0 && sizes == nullptr)) {
    fail(ACL_ERROR_INVALID_PARAM, function, ": ", count, " dimensions at ", sizes, ", wanted 0 to ", kMaxDims,
         " of them at a valid address");
    return false;
  }
  for (int i = 0; i < count; ++i)
    if (sizes[i] < -2) {  // -1 is an unknown size, -2 an unknown number of dimensions
      fail(ACL_ERROR_INVALID_PARAM, function, ": dimension ", i, " is ", sizes[i], ", wanted at least -2");
      return false;
    }
  return true;
}

int missing(const char* function, const char* what) {
  return fail(ACL_ERROR_INVALID_PARAM, function, ": ", what, " is NULL");
}

int set_sizes(const char* function, std::vector<int64_t>* sizes, int count, const int64_t* values) {
  if (!check_sizes(function, count, values)) return ACL_ERROR_INVALID_PARAM;
  sizes->assign(values, values + count);
  return ACL_SUCCESS;
}

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

int set_ranges(const char* function, aclTensorDesc* desc, Ranges aclTensorDesc::* ranges, size_t count,
               int64_t (*values)[2]) {
  if (desc == nullptr) return missing(function, "desc");
  if (count != 0 && values == nullptr) return missing(function, "the array of ranges");
  Ranges given;
  for (size_t i = 0; i < count; ++i) given.emplace_back(values[i][0], values[i][1]);
  desc->*ranges = std::move(given);
  return ACL_SUCCESS;
}

// 0 when a size is not known.
size_t element_count(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t size : desc.sizes) {
    if (size < 0 || __builtin_mul_overflow(count, size_t(size), &count)) return 0;
  }
  return count;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                                  aclFormat format) {
  SOFTNPU_ENTER_POINTER(aclCreateTensorDesc, dataType, numDims, format);
  if (!check_sizes("aclCreateTensorDesc", numDims, dims)) return nullptr;
  auto* desc = new aclTensorDesc;
  desc->type = dataType;
  desc->format = format;
  desc->sizes.assign(dims, dims + numDims);
  return desc;
}

SOFTNPU_EXPORT void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  SOFTNPU_ENTER_AS(cleanup, , aclDestroyTensorDesc, desc);
  delete desc;
}

SOFTNPU_EXPORT aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_DT_UNDEFINED : desc->type;
}

SOFTNPU_EXPORT aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_FORMAT_UNDEFINED : desc->format;
}

SOFTNPU_EXPORT size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : desc->sizes.size();
}

SOFTNPU_EXPORT size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : element_count(*desc);
}

SOFTNPU_EXPORT size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : (element_count(*desc) * size_t(element_bits(desc->type)) + 7) / 8;
}

SOFTNPU_EXPORT aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  SOFTNPU_ENTER(aclGetTensorDescDimV2, desc, index);
  if (desc == nullptr || dimSize == nullptr) return missing("aclGetTensorDescDimV2", "desc or dimSize");
  if (index >= desc->sizes.size())
    return fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: index is ", index, ", wanted less than ",
                desc->sizes.size());
  *dimSize = desc->sizes[index];
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t size = -1;
  return aclGetTensorDescDimV2(desc, index, &size) == ACL_SUCCESS ? size : -1;
}

SOFTNPU_EXPORT aclError aclGetTensorDescDimRange(const aclTensorDesc* desc, size_t index, size_t dimRangeNum,
                                                 int64_t* dimRange) {
  SOFTNPU_ENTER(aclGetTensorDescDimRange, desc, index, dimRangeNum);
  if (desc == nullptr || dimRange == nullptr) return missing("aclGetTensorDescDimRange", "desc or dimRange");
  if (index >= desc->sizes.size() || dimRangeNum < 2)
    return fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimRange: index ", index, " of ",
                desc->sizes.size(), " dimensions, room for ", dimRangeNum, " numbers, wanted 2");
  const int64_t size = desc->sizes[index];
  const bool ranged = index < desc->size_ranges.size();
  dimRange[0] = ranged ? desc->size_ranges[index].first : size;
  dimRange[1] = ranged ? desc->size_ranges[index].second : size;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return desc == nullptr ? "" : desc->name.c_str();
}

SOFTNPU_EXPORT void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  if (desc != nullptr) desc->name = name == nullptr ? "" : name;
}

SOFTNPU_EXPORT aclError aclSetTensorDynamicInput(aclTensorDesc* desc, const char* dynamicInputName) {
  SOFTNPU_ENTER(aclSetTensorDynamicInput, desc, dynamicInputName);
  if (desc == nullptr || dynamicInputName == nullptr)
    return missing("aclSetTensorDynamicInput", "desc or dynamicInputName");
  desc->dynamic_input = dynamicInputName;
  return ACL_SUCCESS;
}

#define SOFTNPU_SET_FORMAT(name, field)                                 \
  SOFTNPU_EXPORT aclError name(aclTensorDesc* desc, aclFormat format) { \
    SOFTNPU_ENTER(name, desc, format);                                  \
    if (desc == nullptr) return missing(#name, "desc");                 \
    desc->field = format;                                               \
    return ACL_SUCCESS;                                                 \
  }
SOFTNPU_SET_FORMAT(aclSetTensorOriginFormat, format)
SOFTNPU_SET_FORMAT(aclSetTensorFormat, storage_format)
SOFTNPU_SET_FORMAT(aclSetTensorStorageFormat, storage_format)

#define SOFTNPU_SET_SHAPE(name, field)                                                               \
  SOFTNPU_EXPORT aclError name(aclTensorDesc* desc, int numDims, const int64_t* dims) {              \
    SOFTNPU_ENTER(name, desc, numDims);                                                              \
    return desc == nullptr ? missing(#name, "desc") : set_sizes(#name, &desc->field, numDims, dims); \
  }
SOFTNPU_SET_SHAPE(aclSetTensorOriginShape, sizes)
SOFTNPU_SET_SHAPE(aclSetTensorShape, storage_sizes)
SOFTNPU_SET_SHAPE(aclSetTensorStorageShape, storage_sizes)

SOFTNPU_EXPORT aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t dimsCount,
                                               int64_t (*dimsRange)[2]) {
  SOFTNPU_ENTER(aclSetTensorShapeRange, desc, dimsCount);
  return set_ranges("aclSetTensorShapeRange", desc, &aclTensorDesc::size_ranges, dimsCount, dimsRange);
}

SOFTNPU_EXPORT aclError aclSetTensorValueRange(aclTensorDesc* desc, size_t valueCount,
                                               int64_t (*valueRange)[2]) {
  SOFTNPU_ENTER(aclSetTensorValueRange, desc, valueCount);
  return set_ranges("aclSetTensorValueRange", desc, &aclTensorDesc::value_ranges, valueCount, valueRange);
}

SOFTNPU_EXPORT aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  SOFTNPU_ENTER(aclSetTensorPlaceMent, desc, memType);
  if (desc == nullptr) return missing("aclSetTensorPlaceMent", "desc");
  desc->placement = memType;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  SOFTNPU_ENTER(aclSetTensorConst, desc, dataBuffer, length);
  if (desc == nullptr || (dataBuffer == nullptr && length != 0))
    return missing("aclSetTensorConst", "desc or dataBuffer");
  const auto* bytes = static_cast<const unsigned char*>(dataBuffer);
  desc->constant.assign(bytes, bytes + length);
  desc->is_constant = true;
  return ACL_SUCCESS;
}

// ----------------------------------------------------------------------------------------- data buffers

SOFTNPU_EXPORT aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  SOFTNPU_ENTER_POINTER(aclCreateDataBuffer, data, size);
  return new aclDataBuffer{data, size};
}

SOFTNPU_EXPORT aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  SOFTNPU_ENTER_CLEANUP(aclDestroyDataBuffer, dataBuffer);
  if (dataBuffer == nullptr) return missing("aclDestroyDataBuffer", "dataBuffer");
  delete dataBuffer;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  SOFTNPU_ENTER(aclUpdateDataBuffer, dataBuffer, data, size);
  if (dataBuffer == nullptr) return missing("aclUpdateDataBuffer", "dataBuffer");
  *dataBuffer = {data, size};
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? nullptr : dataBuffer->data;
}

SOFTNPU_EXPORT size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? 0 : dataBuffer->bytes;
}

SOFTNPU_EXPORT uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return uint32_t(std::min<size_t>(aclGetDataBufferSizeV2(dataBuffer), UINT32_MAX));
}
