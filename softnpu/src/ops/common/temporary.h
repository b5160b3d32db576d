// Memory of a running operator: copies for kernels that want dense operands or another dtype.
#pragma once

#include <memory>
#include <optional>

#include "kernels/common/copy.h"
#include "kernels/common/iterate.h"
#include "kernels/common/temporary.h"
#include "ops/common/plan.h"

namespace softnpu::ops {

using mt::kernels::Temporary;

// An input in a dtype and, if asked for, dense: itself where it already is so, otherwise a copy.
class ReadAs {
 public:
  ReadAs(const View& from, DType dtype, bool dense = true) : view_(from) {
    int64_t numel;
    if (from.dtype == dtype && (!dense || mt::kernels::is_dense(from, numel))) return;
    copy_.emplace(from, dtype);
    mt::kernels::copy(from, copy_->view());
    view_ = copy_->view();
  }
  const View& view() const { return view_; }

 private:
  View view_;
  std::optional<Temporary> copy_;
};

inline ReadAs dense_input(const View& from) { return ReadAs(from, from.dtype); }
// Indices as int64, whichever integer type they came in.
inline ReadAs as_long(const View& from) { return ReadAs(from, DType::int64, false); }

// A dense result of a dtype; finish() moves it to where it belongs.
class WriteAs {
 public:
  WriteAs(const View& to, DType dtype) : to_(to), view_(to) {
    int64_t numel;
    if (to.dtype == dtype && mt::kernels::is_dense(to, numel)) return;
    copy_.emplace(to, dtype);
    view_ = copy_->view();
  }
  explicit WriteAs(const View& to) : WriteAs(to, to.dtype) {}
  const View& view() const { return view_; }
  void finish() const {
    if (copy_) mt::kernels::copy(view_, to_);
  }

 private:
  View to_, view_;
  std::optional<Temporary> copy_;
};

}  // namespace softnpu::ops
