#include "hccl/element.h"

#include <algorithm>

#include "hccl/failure.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

namespace softnpu::hccl {
namespace {

using mt::DType;

struct Element {
  HcclDataType type;
  const char* name;
  uint64_t size;
  std::optional<DType> dtype;  // what the kernels know it as
};

constexpr Element kElements[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1, DType::int8},
    {HCCL_DATA_TYPE_INT16, "int16", 2, DType::int16},
    {HCCL_DATA_TYPE_INT32, "int32", 4, DType::int32},
    {HCCL_DATA_TYPE_FP16, "float16", 2, DType::float16},
    {HCCL_DATA_TYPE_FP32, "float32", 4, DType::float32},
    {HCCL_DATA_TYPE_INT64, "int64", 8, DType::int64},
    {HCCL_DATA_TYPE_UINT64, "uint64", 8, DType::uint64},
    {HCCL_DATA_TYPE_UINT8, "uint8", 1, DType::uint8},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2, DType::uint16},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4, DType::uint32},
    {HCCL_DATA_TYPE_FP64, "float64", 8, DType::float64},
    {HCCL_DATA_TYPE_BFP16, "bfloat16", 2, DType::bfloat16},
    {HCCL_DATA_TYPE_INT128, "int128", 16, std::nullopt},
    {HCCL_DATA_TYPE_HIF8, "hifloat8", 1, std::nullopt},
    {HCCL_DATA_TYPE_FP8E4M3, "float8_e4m3", 1, std::nullopt},
    {HCCL_DATA_TYPE_FP8E5M2, "float8_e5m2", 1, std::nullopt},
    {HCCL_DATA_TYPE_FP8E8M0, "float8_e8m0", 1, std::nullopt},
};

const Element& element(HcclDataType type) {
  for (const Element& each : kElements)
    if (each.type == type) return each;
  refuse(HCCL_E_PARA, "the data type is ", unsigned(type), ", which is none of HCCL's");
}

template <class Op>
void apply(const mt::kernels::View& total, const mt::kernels::View& more) {
  const mt::Scalar one(int64_t(1));
  mt::kernels::binary<Op>(total, more, total, total.dtype, Op::parameters == 0 ? nullptr : &one);
}

// The kernels of tensors have no extremes of these.
bool is_wide_unsigned(DType dtype) {
  return dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
}

template <class T>
void extreme(T* total, const T* more, uint64_t count, HcclReduceOp op) {
  for (uint64_t i = 0; i < count; ++i)
    total[i] = op == HCCL_REDUCE_MAX ? std::max(total[i], more[i]) : std::min(total[i], more[i]);
}

mt::kernels::DTypeSet domain(HcclReduceOp op) {
  switch (op) {
    case HCCL_REDUCE_SUM: return mt::kernels::add_op::domain;
    case HCCL_REDUCE_PROD: return mt::kernels::mul_op::domain;
    case HCCL_REDUCE_MAX: return mt::kernels::maximum_op::domain;
    case HCCL_REDUCE_MIN: return mt::kernels::minimum_op::domain;
    default: refuse(HCCL_E_PARA, "the reduction is ", unsigned(op), ", which is none of HCCL's");
  }
}

}  // namespace

uint64_t element_size(HcclDataType type) { return element(type).size; }
std::string element_name(HcclDataType type) { return element(type).name; }

const char* reduction_name(HcclReduceOp op) {
  switch (op) {
    case HCCL_REDUCE_SUM: return "sum";
    case HCCL_REDUCE_PROD: return "prod";
    case HCCL_REDUCE_MAX: return "max";
    case HCCL_REDUCE_MIN: return "min";
    default: return "no reduction";
  }
}

void require_reducible(HcclDataType type, HcclReduceOp op) {
  const Element& kind = element(type);
  const mt::kernels::DTypeSet allowed = domain(op);
  if (kind.dtype && is_wide_unsigned(*kind.dtype)) return;
  if (!kind.dtype || !mt::kernels::contains(allowed, *kind.dtype))
    refuse(HCCL_E_NOT_SUPPORT, "the reduction ", reduction_name(op), " of ", kind.name, " is not supported");
}

void reduce_into(void* total, const void* more, uint64_t count, HcclDataType type, HcclReduceOp op) {
  const int64_t size = int64_t(count), stride = 1;
  const DType dtype = element(type).dtype.value();
  if (is_wide_unsigned(dtype) && (op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN)) {
    if (dtype == DType::uint16)
      return extreme(static_cast<uint16_t*>(total), static_cast<const uint16_t*>(more), count, op);
    if (dtype == DType::uint32)
      return extreme(static_cast<uint32_t*>(total), static_cast<const uint32_t*>(more), count, op);
    return extreme(static_cast<uint64_t*>(total), static_cast<const uint64_t*>(more), count, op);
  }
  const mt::kernels::View into{total, &size, &stride, 1, dtype, size};
  const mt::kernels::View from{const_cast<void*>(more), &size, &stride, 1, dtype, size};
  switch (op) {
    case HCCL_REDUCE_SUM: return apply<mt::kernels::add_op>(into, from);
    case HCCL_REDUCE_PROD: return apply<mt::kernels::mul_op>(into, from);
    case HCCL_REDUCE_MAX: return apply<mt::kernels::maximum_op>(into, from);
    default: return apply<mt::kernels::minimum_op>(into, from);
  }
}

}  // namespace softnpu::hccl
