#include "infer/indexing.h"

namespace mt::infer {

Indexing indexing(const Tensor& self, TensorList indices) {
  MT_CHECK_AS(index, int64_t(indices.size()) <= self.dim(), "too many indices for tensor of dimension ",
              self.dim(), " (got ", indices.size(), ")");
  Indexing out;
  const Tensor* previous = nullptr;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    MT_CHECK_AS(index, is_index_type(indices[d].dtype()),
                "tensors used as indices must be long, int, byte or bool tensors");
    check_same_device({&self, &indices[d]});
    out.dims.push_back(int64_t(d));
    const IntList a = previous ? IntList(out.index_sizes) : IntList(), b = indices[d].sizes();
    for (size_t back = 1; back <= std::min(a.size(), b.size()); ++back) {
      const int64_t x = a[a.size() - back], y = b[b.size() - back];
      if (x == y || x == 1 || y == 1) continue;
      std::string shapes;
      for (const Tensor& t : indices)
        if (t.defined()) shapes += (shapes.empty() ? "" : ", ") + to_string(t.sizes());
      fail(ErrorKind::index, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
           shapes);
    }
    out.index_sizes = broadcast(a, b);
    previous = &indices[d];
  }
  bool adjacent = true;
  for (size_t i = 1; i < out.dims.size(); ++i) adjacent &= out.dims[i] == out.dims[i - 1] + 1;
  out.first = adjacent && !out.dims.empty() ? size_t(out.dims[0]) : 0;
  for (size_t d = 0; d < size_t(self.dim()); ++d) {
    if (d < indices.size() && indices[d].defined()) continue;
    out.sizes.push_back(self.sizes()[d]);
    out.table_strides.push_back(self.strides()[d]);
  }
  for (size_t i = 0; i < out.index_sizes.size(); ++i) {
    out.sizes.insert(out.first + i, out.index_sizes[i]);
    out.table_strides.insert(out.first + i, 0);
  }
  return out;
}

}  // namespace mt::infer
