#include "aclop/call.h"

#include <cstring>

#include "runtime/element_size.h"

namespace softnpu::aclop {

Number number(double value) { return Number(aclCreateScalar(&value, ACL_DOUBLE)); }

const Call::Argument& Call::at(std::span<const Argument> arguments, size_t index, const char* kind) const {
  if (index >= arguments.size())
    refuse("has ", arguments.size(), " ", kind, "s, wanted at least ", index + 1);
  return arguments[index];
}

bool Call::has_input(size_t index) const {
  return index < inputs_.size() && inputs_[index].desc->type != ACL_DT_UNDEFINED &&
         inputs_[index].desc->format != ACL_FORMAT_UNDEFINED;
}

const aclTensorDesc& Call::input_desc(size_t index) const { return *at(inputs_, index, "input").desc; }
const aclTensorDesc& Call::output_desc(size_t index) const { return *at(outputs_, index, "output").desc; }

Tensor Call::tensor(const Argument& argument, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>* strides, int64_t offset) const {
  if (argument.buffer == nullptr) refuse("a data buffer is NULL");
  if (strides != nullptr && strides->size() != sizes.size())
    refuse(sizes.size(), " sizes but ", strides->size(), " strides");
  const int64_t bits = element_bits(argument.desc->type);
  if (bits < 8) refuse("data type ", int(argument.desc->type), " is not supported");
  const int64_t elements = int64_t(argument.buffer->bytes) * 8 / bits;
  Tensor made(aclCreateTensor(sizes.data(), sizes.size(), argument.desc->type,
                              strides == nullptr ? nullptr : strides->data(), offset, ACL_FORMAT_ND,
                              &elements, 1, argument.buffer->data));
  if (made == nullptr) check(ACL_ERROR_INVALID_PARAM);
  return made;
}

Tensor Call::input(size_t index) const {
  const Argument& argument = at(inputs_, index, "input");
  return tensor(argument, argument.desc->sizes, nullptr, 0);
}

Tensor Call::output(size_t index) const {
  const Argument& argument = at(outputs_, index, "output");
  return tensor(argument, argument.desc->sizes, nullptr, 0);
}

Tensor Call::transposed_input(size_t index) const {
  std::vector<int64_t> sizes = input_desc(index).sizes, strides(sizes.size(), 1);
  if (sizes.size() < 2) refuse("input ", index, " has ", sizes.size(), " dimensions, wanted at least 2");
  for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return input_as(index, sizes, strides, 0);
}

Tensor Call::input_as(size_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                      int64_t offset) const {
  return tensor(at(inputs_, index, "input"), sizes, &strides, offset);
}

Tensor Call::output_as(size_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                       int64_t offset) const {
  return tensor(at(outputs_, index, "output"), sizes, &strides, offset);
}

std::vector<int64_t> Call::integers(size_t index) const {
  const Argument& argument = at(inputs_, index, "input");
  const aclDataType type = argument.desc->type;
  if (type != ACL_INT64 && type != ACL_UINT64 && type != ACL_INT32)
    refuse("input ", index, " has data type ", int(type), ", wanted int32, int64 or uint64");
  const size_t count = aclGetTensorDescElementCount(argument.desc), width = aclDataTypeSize(type);
  std::vector<unsigned char> bytes(count * width);
  if (argument.desc->is_constant) {
    bytes = argument.desc->constant;
  } else if (argument.buffer == nullptr || argument.buffer->bytes < bytes.size()) {
    refuse("the buffer of input ", index, " is shorter than its ", bytes.size(), " bytes");
  } else if (argument.desc->placement != ACL_MEMTYPE_DEVICE) {
    std::memcpy(bytes.data(), argument.buffer->data, bytes.size());
  } else {
    check(aclrtSynchronizeStream(stream_));
    check(aclrtMemcpy(bytes.data(), bytes.size(), argument.buffer->data, bytes.size(),
                      ACL_MEMCPY_DEVICE_TO_HOST));
  }
  if (bytes.size() < count * width) refuse("the constant of input ", index, " is too short");
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    if (width == sizeof(int64_t)) {
      std::memcpy(&values[i], &bytes[i * width], width);
    } else {
      int32_t narrow;
      std::memcpy(&narrow, &bytes[i * width], width);
      values[i] = narrow;
    }
  }
  return values;
}

Number Call::host_number(size_t index) const {
  const Argument& argument = at(inputs_, index, "input");
  if (argument.desc->placement == ACL_MEMTYPE_DEVICE) return nullptr;
  if (argument.buffer->data == nullptr || argument.buffer->bytes < aclDataTypeSize(argument.desc->type))
    refuse("the buffer of input ", index, " is too short for a value");
  Number value(aclCreateScalar(argument.buffer->data, argument.desc->type));
  if (value == nullptr) check(ACL_ERROR_INVALID_PARAM);
  return value;
}

void Call::check(int status) const {
  if (status == 0) return;
  const char* message = aclGetRecentErrMsg();
  throw Refused(status, mt::join_text(type_, ": ", message == nullptr ? "failed" : message));
}

}  // namespace softnpu::aclop
