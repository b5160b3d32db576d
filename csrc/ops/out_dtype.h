// Operators whose result PyTorch casts into no out= of another dtype (`out_dtype:` in the table).
#pragma once

#include "core/dispatch.h"

namespace mt::results {

// `words` is the message, with {wanted} and {got} for the dtypes, and {wanted.c} and {got.c} for their names in C++.
[[noreturn]] void refuse_dtype(DType got, DType wanted, std::string_view words);
inline void require_dtype(const Tensor& out, DType wanted, std::string_view words) {
  if (out.dtype() != wanted) [[unlikely]]
    refuse_dtype(out.dtype(), wanted, words);
}
// Where any dtype of a kind will do, so that none is wanted.
inline void require_kind(const Tensor& out, bool suits, std::string_view words) {
  if (!suits) [[unlikely]]
    refuse_dtype(out.dtype(), out.dtype(), words);
}

}  // namespace mt::results
