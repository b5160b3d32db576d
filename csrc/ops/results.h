// In-place and out= variants: of operators that are written in terms of others, where the result is made, then moved,
// and of kernels that cannot write over what they read.
#pragma once

#include <tuple>

#include "core/dispatch.h"

namespace mt::results {

// What an in-place composite computes from: `self`, or a copy where the backward pass may read it after the write.
Tensor before_write(const Tensor& self, bool needs_grad);
// Writes `result` over `self`, with its history; shape and dtype must suit.
const Tensor& write_back(const Tensor& self, const Tensor& result);
// Writes `result` into the caller's out=, which is resized if need be.
void write_out(const Tensor& out, const Tensor& result);

// What an operator made, as a tensor of its own: where it is a window on a temporary that nobody else holds, it does not
// remember that it was one. So writing to the result of repeat, or of a reshape that copied, is no write through a view.
void forget_temporary(const Tensor& made);
inline Tensor own(Tensor&& made) {
  if (made.defined() && made.is_view()) forget_temporary(made);
  return std::move(made);
}
template <class... T>
std::tuple<T...> own(std::tuple<T...>&& made) {
  return std::apply([](T&... each) { return std::tuple<T...>(own(std::move(each))...); }, made);
}
inline std::vector<Tensor> own(std::vector<Tensor>&& made) { return std::move(made); }

// `read`, or a copy of it if writing to `written` may change it: for kernels that read an operand after they have
// written a part of their result.
Tensor apart(const Tensor& written, const Tensor& read);

}  // namespace mt::results
