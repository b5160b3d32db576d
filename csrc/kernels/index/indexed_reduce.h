// Several values that meet in one place of a tensor, reduced there.
#pragma once

#include <string_view>

#include "kernels/index/indexed.h"

namespace mt::kernels {

enum class Meeting : uint8_t { sum, product, mean, max, min };

// PyTorch's names: sum (add), prod (multiply), mean, amax, amin.
Meeting meeting_of(std::string_view reduce);
// `table` and `lookup` lead into `self` along one dimension, as for scatter(). Without `include_self` the old values do
// not count, except where nobody writes.
void scatter_reduce(const View& self, const View& table, const Lookup& lookup, const View& source,
                    Meeting meeting, bool include_self);

}  // namespace mt::kernels
