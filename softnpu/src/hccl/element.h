// HCCL's element types and reductions, in terms of the kernels'.
#pragma once

#include <optional>
#include <string>

#include "base/dtype.h"
#include "hccl_abi.h"

namespace softnpu::hccl {

// A Failure when it is none of HCCL's types.
uint64_t element_size(HcclDataType type);
std::string element_name(HcclDataType type);
const char* reduction_name(HcclReduceOp op);

// A Failure (HCCL_E_NOT_SUPPORT) when there is no kernel for it.
void require_reducible(HcclDataType type, HcclReduceOp op);
// total[i] = total[i] op more[i]
void reduce_into(void* total, const void* more, uint64_t count, HcclDataType type, HcclReduceOp op);

}  // namespace softnpu::hccl
