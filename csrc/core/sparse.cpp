#include "core/sparse.h"

#include "core/intercept.h"

namespace mt {
namespace {

constexpr const char* kNames[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                  "sparse_bsr", "sparse_bsc", "jagged"};

}  // namespace

const char* layout_name(Layout layout) { return kNames[size_t(layout)]; }

Layout layout_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return Layout(i);
  fail(ErrorKind::value, "there is no layout ", name);
}

Layout layout_of(const Tensor& tensor) {
  return special(tensor) & kSparse ? sparse_parts(tensor)->layout : Layout::strided;
}

Dims block_of(const Tensor& tensor) {
  const Layout layout = layout_of(tensor);
  if (layout != Layout::sparse_bsr && layout != Layout::sparse_bsc) return {};
  const SparseParts& parts = *sparse_parts(tensor);
  const int64_t at = parts.plain_indices.dim();  // behind the batch and the blocks
  return {parts.values.size(at), parts.values.size(at + 1)};
}

}  // namespace mt
