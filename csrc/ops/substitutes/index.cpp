// Indexing made of gather, scatter and sort.
#include "generated/ops/substitutes/index.h"

#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"

namespace mt::substitutes {
namespace {

Dims replaced(IntList sizes, int64_t dim, int64_t size) {
  Dims result(sizes);
  result[size_t(wrap_dim(dim, int64_t(sizes.size())))] = size;
  return result;
}

// A list of places along `dim`, for every element of `source`.
Tensor places_like(const Tensor& index, int64_t dim, const Tensor& source) {
  Dims line(size_t(source.dim()), 1);
  line[size_t(wrap_dim(dim, source.dim()))] = index.numel();
  return ops::expand(index.reshape(line), source.sizes());
}

}  // namespace

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  if (self.dim() == 0) return index_fill(self.reshape(Dims{1}), 0, index, value).reshape({});
  if (value.device().is_cpu()) return ops::index_fill(self, dim, index, item(value));
  const Tensor source =
      ops::expand(ops::_to_copy(value, self.dtype()).reshape({}), replaced(self.sizes(), dim, index.numel()));
  return ops::index_copy(self, dim, index.reshape(Dims{index.numel()}), source);
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self) {
  if (self.dim() == 0)
    return index_reduce(self.reshape(Dims{1}), 0, index, source.reshape(Dims{1}), reduce, include_self)
        .reshape({});
  return ops::scatter_reduce(self, dim, places_like(index, dim, source), source, reduce, include_self);
}

}  // namespace mt::substitutes
