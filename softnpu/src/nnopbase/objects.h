// The objects behind ACLNN's handles: tensors, scalars, arrays and lists.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "acl_abi.h"
#include "runtime/export.h"

namespace softnpu {

// For a few numbers: a loop would become a call of memmove, which costs more than they do.
inline void copy_few(const int64_t* from, uint64_t count, int64_t* to) {
  if (count > 0) to[0] = from[0];
  if (count > 1) to[1] = from[1];
  if (count > 2) to[2] = from[2];
  if (count > 3) to[3] = from[3];
  if (count > 4) [[unlikely]]
    std::copy(from + 4, from + count, to + 4);
}

// A copy of an array of numbers; short ones (every shape in practice) need no allocation.
class Dims {
 public:
  static constexpr uint64_t kInline = 8;

  Dims() {}
  void assign(const int64_t* values, uint64_t count) { copy_few(values, count, reserve(count)); }
  // The strides of a contiguous tensor with these sizes.
  void assign_contiguous(const int64_t* sizes, uint64_t count) {
    int64_t* to = reserve(count);
    int64_t stride = 1;
    for (uint64_t i = count; i-- > 0;) {
      to[i] = stride;
      stride *= std::max<int64_t>(sizes[i], 1);
    }
  }
  const int64_t* data() const { return long_ ? long_.get() : short_; }
  int64_t* data() { return long_ ? long_.get() : short_; }
  uint64_t size() const { return count_; }
  int64_t operator[](uint64_t i) const { return data()[i]; }

 private:
  int64_t* reserve(uint64_t count) {
    count_ = count;
    if (count <= kInline && !long_) [[likely]]
      return short_;
    long_.reset(count > kInline ? new int64_t[count] : nullptr);
    return data();
  }

  uint64_t count_ = 0;
  int64_t short_[kInline];
  std::unique_ptr<int64_t[]> long_;
};

// The shape of a result that depends on values: known once the operator has run. The handle and the executor share
// it, so that a handle destroyed too early is not written to.
class LateShape {
 public:
  void set(const int64_t* sizes, uint64_t count) {
    sizes_.assign(sizes, count);
    known_.store(true, std::memory_order_release);
  }
  const Dims* known() const { return known_.load(std::memory_order_acquire) ? &sizes_ : nullptr; }

 private:
  Dims sizes_;
  std::atomic<bool> known_{false};
};

}  // namespace softnpu

struct aclTensor {
  softnpu::Dims sizes, strides, storage_sizes;
  int64_t offset;  // in elements
  aclDataType type;
  aclFormat format;
  void* data;  // device address of the storage; not owned
  std::shared_ptr<softnpu::LateShape>
      late;  // of the operator whose result this is, if its shape depends on values

  // Takes over the shape that such an operator has found by now. A contiguous tensor stays contiguous.
  void adopt_late_shape() {
    const softnpu::Dims* found = late ? late->known() : nullptr;
    if (found == nullptr) return;
    softnpu::Dims contiguous;
    contiguous.assign_contiguous(sizes.data(), sizes.size());
    const bool keep = !std::equal(strides.data(), strides.data() + strides.size(), contiguous.data());
    sizes.assign(found->data(), found->size());
    if (!keep) strides.assign_contiguous(found->data(), found->size());
  }
};

struct aclScalar {
  aclDataType type;
  alignas(16) unsigned char value[16];
};

struct aclIntArray {
  softnpu::Dims values;
};

struct aclFloatArray {
  std::vector<float> values;
};

struct aclBoolArray {
  std::vector<char> values;  // not bool: vector<bool> has no bytes to point to
};

struct aclTensorList {
  std::vector<aclTensor*> values;
};

struct aclScalarList {
  std::vector<aclScalar*> values;
};
