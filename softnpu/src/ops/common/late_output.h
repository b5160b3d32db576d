// Results whose shape depends on values: the caller gives room for the largest, the operator writes the real shape into
// the caller's handle, to be read after the stream has been synchronised.
#pragma once

#include <memory>

#include "ops/common/views.h"

namespace softnpu::ops {

class LateOutput {
 public:
  LateOutput(Plan& plan, aclTensor* tensor, const char* name)
      : room_(plan.output(tensor, name)), shape_(std::make_shared<LateShape>()) {
    tensor->late = shape_;
  }

  const Operand& room() const { return room_; }

  // The result as it turned out. Contiguous room stays contiguous, so that the caller may go on with its beginning.
  Operand found(const int64_t* sizes, int ndim) const {
    Operand result = room_;
    result.ndim = int16_t(ndim);
    for (int i = 0; i < ndim; ++i) result.sizes[i] = sizes[i];
    const bool contiguous = is_contiguous(room_);
    bool fits = contiguous ? result.numel() <= room_.numel() : ndim == room_.ndim;
    for (int i = 0; fits && !contiguous && i < ndim; ++i) fits = sizes[i] <= room_.sizes[i];
    MT_CHECK(fits, "the result has shape ", shape_text(result), ", which does not fit the given ",
             shape_text(room_));
    if (contiguous) set_contiguous(result);
    shape_->set(sizes, uint64_t(ndim));
    return result;
  }
  Operand found(std::initializer_list<int64_t> sizes) const {
    return found(sizes.begin(), int(sizes.size()));
  }

 private:
  Operand room_;
  std::shared_ptr<LateShape> shape_;
};

}  // namespace softnpu::ops
