#include "ops/common/plan.h"

#include "runtime/config.h"
#include "runtime/device_memory.h"
#include "sanitizer/sanitizer.h"

namespace softnpu::ops {
namespace {

bool to_dtype(aclDataType type, DType* dtype) {
  switch (type) {
    case ACL_FLOAT: *dtype = DType::float32; return true;
    case ACL_FLOAT16: *dtype = DType::float16; return true;
    case ACL_BF16: *dtype = DType::bfloat16; return true;
    case ACL_DOUBLE: *dtype = DType::float64; return true;
    case ACL_INT8: *dtype = DType::int8; return true;
    case ACL_INT16: *dtype = DType::int16; return true;
    case ACL_INT32: *dtype = DType::int32; return true;
    case ACL_INT64: *dtype = DType::int64; return true;
    case ACL_UINT8: *dtype = DType::uint8; return true;
    case ACL_UINT16: *dtype = DType::uint16; return true;
    case ACL_UINT32: *dtype = DType::uint32; return true;
    case ACL_UINT64: *dtype = DType::uint64; return true;
    case ACL_BOOL: *dtype = DType::boolean; return true;
    case ACL_COMPLEX64: *dtype = DType::complex64; return true;
    case ACL_COMPLEX128: *dtype = DType::complex128; return true;
    default: return false;
  }
}

template <class T>
T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

int64_t Operand::numel() const {
  int64_t n = 1;
  for (int i = 0; i < ndim; ++i) n *= sizes[i];
  return n;
}

View Operand::view(const aclOpExecutor& executor) const& {
  char* base = static_cast<char*>(host_address(executor.slot(slot).address));
  return {base + offset, sizes, strides, ndim, dtype};
}

std::string shape_text(const int64_t* sizes, int ndim) {
  std::string text = "[";
  for (int i = 0; i < ndim; ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + "]";
}

std::string dtypes_text(DTypeSet dtypes) {
  std::vector<const char*> names;
  for (int i = 0; i < mt::kDTypeCount; ++i)
    if (mt::kernels::contains(dtypes, DType(i))) names.push_back(mt::info(DType(i)).name);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::optional<Operand> Plan::optional_output(const aclTensor* tensor, const char* name) {
  if (tensor != nullptr) return tensor_argument(tensor, name, true);
  ++executor_.parameters;
  return std::nullopt;
}

std::optional<Operand> Plan::optional_input(const aclTensor* tensor, const char* name) {
  if (tensor != nullptr) return tensor_argument(tensor, name, false);
  ++executor_.parameters;
  return std::nullopt;
}

const aclTensorList& Plan::required_list(const aclTensorList* list, const char* name) const {
  if (list == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, mt::join_text(executor_.name, ": ", name, " is NULL"));
  return *list;
}

std::vector<Operand> Plan::inputs(const aclTensorList* list, const char* name) {
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < required_list(list, name).values.size(); ++i)
    operands.push_back(add_operand(list->values[i], name, false, i, executor_.parameters));
  ++executor_.parameters;
  return operands;
}

std::vector<Operand> Plan::outputs(const aclTensorList* list, const char* name) {
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < required_list(list, name).values.size(); ++i)
    operands.push_back(add_operand(list->values[i], name, true, i, executor_.parameters));
  ++executor_.parameters;
  return operands;
}

std::vector<std::optional<Operand>> Plan::optional_inputs(const aclTensorList* list, const char* name) {
  std::vector<std::optional<Operand>> operands;
  for (uint32_t i = 0; i < required_list(list, name).values.size(); ++i) {
    const aclTensor* tensor = list->values[i];
    operands.push_back(tensor == nullptr ? std::nullopt
                                         : std::optional<Operand>(
                                               add_operand(tensor, name, false, i, executor_.parameters)));
  }
  ++executor_.parameters;
  return operands;
}

Operand Plan::add_operand(const aclTensor* tensor, const char* name, bool output, uint32_t element,
                          uint32_t parameter) {
  Operand operand;
  if (tensor == nullptr || tensor->sizes.size() > kMaxDims || !to_dtype(tensor->type, &operand.dtype) ||
      (operand.dtype == DType::bfloat16 && !config().soc.load(std::memory_order_relaxed)->bfloat16))
      [[unlikely]]
    refuse_tensor(tensor, name);
  const int ndim = int(tensor->sizes.size());
  const int64_t *sizes = tensor->sizes.data(), *strides = tensor->strides.data();
  const int64_t itemsize = int64_t(mt::itemsize(operand.dtype));
  int64_t first = tensor->offset, last = tensor->offset;  // elements
  bool empty = false;
  for (int i = 0; i < ndim; ++i) {
    const int64_t size = sizes[i], stride = strides[i];
    operand.sizes[i] = size;
    operand.strides[i] = stride;
    empty = empty || size == 0;
    int64_t reach;
    if (size < 0 || __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), stride, &reach) ||
        __builtin_add_overflow(stride > 0 ? last : first, reach, stride > 0 ? &last : &first)) [[unlikely]]
      refuse_tensor(tensor, name);
  }
  operand.ndim = int16_t(ndim);
  operand.offset = tensor->offset * itemsize;
  operand.slot = executor_.slot_count;
  TensorSlot& slot = executor_.new_slot();
  slot.address = tensor->data;
  slot.first_byte = first * itemsize;
  slot.bytes = empty ? 0 : (last - first + 1) * itemsize;
  slot.element = element;
  slot.parameter = uint16_t(parameter);
  slot.output = output;
  // The card would fault later, in the kernel; here the message can still name the argument.
  if (!empty && (first < 0 || !is_live(static_cast<char*>(slot.address) + slot.first_byte,
                                       uint64_t(slot.bytes), live_seen_))) [[unlikely]]
    refuse_memory(tensor, name, slot);
  if (sanitizer::on()) [[unlikely]]
    executor_.views.push_back({name,
                               operand.offset,
                               itemsize,
                               {operand.sizes, operand.sizes + operand.ndim},
                               {operand.strides, operand.strides + operand.ndim}});
  return operand;
}

// What is wrong with the descriptor.
void Plan::refuse_tensor(const aclTensor* tensor, const char* name) const {
  if (tensor == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, mt::join_text(executor_.name, ": tensor '", name, "' is NULL"));
  DType dtype;
  if (tensor->sizes.size() > kMaxDims)
    invalid("tensor '", name, "' has ", tensor->sizes.size(), " dimensions, wanted at most ", kMaxDims);
  if (!to_dtype(tensor->type, &dtype))
    invalid("tensor '", name, "' has data type ", int(tensor->type),
            ", which the software NPU does not support");
  if (dtype == DType::bfloat16 && !config().soc.load(std::memory_order_relaxed)->bfloat16)
    invalid("tensor '", name, "' is bfloat16, which ", config().soc.load()->name,
            " does not have; wanted float16");
  for (uint64_t i = 0; i < tensor->sizes.size(); ++i)
    if (tensor->sizes[i] < 0) invalid("tensor '", name, "' has the negative size ", tensor->sizes[i]);
  invalid("tensor '", name, "': its sizes and strides overflow 64 bits");
}

void Plan::refuse_memory(const aclTensor* tensor, const char* name, const TensorSlot& slot) const {
  if (sanitizer::on())
    sanitizer::refused(executor_.name, name, static_cast<char*>(slot.address) + slot.first_byte,
                       uint64_t(slot.bytes), slot.output);
  invalid("tensor '", name, "' of shape ", shape_text(tensor->sizes.data(), int(tensor->sizes.size())),
          ", offset ", tensor->offset, ", address ", tensor->data,
          " is not inside one live device allocation (freed, a host address, or too short)");
}

Scalar Plan::scalar(const aclScalar* scalar, const char* name) const {
  if (scalar == nullptr) [[unlikely]]
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, mt::join_text(executor_.name, ": scalar '", name, "' is NULL"));
  const unsigned char* bytes = scalar->value;
  switch (scalar->type) {
    case ACL_DOUBLE: return Scalar(read<double>(bytes));
    case ACL_FLOAT: return Scalar(double(read<float>(bytes)));
    case ACL_FLOAT16: return Scalar(double(float(read<mt::Half>(bytes))));
    case ACL_BF16: return Scalar(double(float(read<mt::BFloat16>(bytes))));
    case ACL_INT64:
    case ACL_UINT64: return Scalar(read<int64_t>(bytes));
    case ACL_INT32: return Scalar(int64_t(read<int32_t>(bytes)));
    case ACL_UINT32: return Scalar(int64_t(read<uint32_t>(bytes)));
    case ACL_INT16: return Scalar(int64_t(read<int16_t>(bytes)));
    case ACL_UINT16: return Scalar(int64_t(read<uint16_t>(bytes)));
    case ACL_INT8: return Scalar(int64_t(read<int8_t>(bytes)));
    case ACL_UINT8: return Scalar(int64_t(read<uint8_t>(bytes)));
    case ACL_BOOL: return Scalar(bytes[0] != 0);
    case ACL_COMPLEX64: return Scalar(mt::complex128(read<mt::complex64>(bytes)));
    case ACL_COMPLEX128: return Scalar(read<mt::complex128>(bytes));
    default: invalid("scalar '", name, "' has data type ", int(scalar->type), ", which is no number");
  }
}

std::vector<int64_t> Plan::integers(const aclIntArray* array, const char* name) const {
  if (array == nullptr) null_argument(name);
  return {array->values.data(), array->values.data() + array->values.size()};
}

DType Plan::dtype(aclDataType type, const char* name) const {
  DType result;
  if (!to_dtype(type, &result))
    invalid("'", name, "' is data type ", int(type), ", which the software NPU does not support");
  return result;
}

int Plan::dim(int64_t dim, const Operand& of) const {
  const int count = std::max<int>(of.ndim, 1);
  if (dim < -count || dim >= count)
    invalid("dim ", dim, " is out of range for the shape ", shape_text(of), "; wanted ", -count, " to ",
            count - 1);
  return int(dim < 0 ? dim + count : dim);
}

DimSet Plan::dims(const aclIntArray* dims, const Operand& of) const {
  const bool all = dims == nullptr || dims->values.size() == 0;
  if (all) return DimSet().set();
  DimSet chosen;
  for (uint64_t i = 0; i < dims->values.size(); ++i) {
    const int index = dim(dims->values[i], of);
    if (of.ndim == 0) continue;
    if (chosen[size_t(index)]) invalid("dim ", dims->values[i], " appears twice");
    chosen[size_t(index)] = true;
  }
  return chosen;
}

std::vector<Scalar> Plan::scalars(const aclScalarList* list, const char* name) const {
  if (list == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, mt::join_text(executor_.name, ": ", name, " is NULL"));
  std::vector<Scalar> numbers;
  for (const aclScalar* value : list->values) numbers.push_back(scalar(value, name));
  return numbers;
}

void Plan::require_same_shape(const Operand& a, const char* a_name, const Operand& b,
                              const char* b_name) const {
  if (!same_shape(a, b)) [[unlikely]]
    invalid("tensor '", a_name, "' has shape ", shape_text(a), " but '", b_name, "' has ", shape_text(b),
            "; they must be the same");
}

void Plan::require_shape(const Operand& operand, const char* name, const std::vector<int64_t>& wanted) const {
  if (operand.ndim == int(wanted.size()) && std::equal(wanted.begin(), wanted.end(), operand.sizes)) return;
  std::string text = "[";
  for (size_t i = 0; i < wanted.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(wanted[i]);
  invalid("tensor '", name, "' has shape ", shape_text(operand), ", wanted ", text, "]");
}

void Plan::require_broadcast(const Operand& operand, const char* name, const Operand& to) const {
  bool fits = operand.ndim <= to.ndim;
  for (int i = 1; fits && i <= operand.ndim; ++i) {
    const int64_t size = operand.sizes[operand.ndim - i];
    fits = size == 1 || size == to.sizes[to.ndim - i];
  }
  if (!fits) [[unlikely]]
    invalid("tensor '", name, "' of shape ", shape_text(operand),
            " cannot be broadcast to the result's shape ", shape_text(to));
}

void Plan::require_ndim(const Operand& operand, const char* name, int ndim) const {
  if (operand.ndim != ndim) [[unlikely]]
    invalid("tensor '", name, "' has shape ", shape_text(operand), ", wanted ", ndim, " dimensions");
}

void Plan::require_same_dtype(const Operand& a, const char* a_name, const Operand& b,
                              const char* b_name) const {
  if (a.dtype != b.dtype) [[unlikely]]
    invalid("tensor '", a_name, "' is ", mt::info(a.dtype).name, " but '", b_name, "' is ",
            mt::info(b.dtype).name, "; they must be the same");
}

void Plan::refuse_dtype(const Operand& operand, const char* name, DTypeSet wanted) const {
  invalid("not implemented for '", mt::info(operand.dtype).legacy, "': tensor '", name, "' is ",
          mt::info(operand.dtype).name, ", wanted ", dtypes_text(wanted));
}

void Plan::null_argument(const char* name) const {
  throw PlanError(ACLNN_ERR_PARAM_NULLPTR, mt::join_text(executor_.name, ": '", name, "' is NULL"));
}

void Plan::refuse_unimplemented() const {
  throw PlanError(ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
                  mt::join_text(executor_.name, ": this operator is not implemented by the software NPU"));
}

}  // namespace softnpu::ops
