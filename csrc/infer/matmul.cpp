#include "generated/infer/matmul.h"

namespace mt::infer {

void mm(const Tensor& self, const Tensor& mat2, Output& out) {
  MT_CHECK(self.dim() == 2, "self must be a matrix");
  MT_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  MT_CHECK(self.sizes()[1] == mat2.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", self.sizes()[0],
           "x", self.sizes()[1], " and ", mat2.sizes()[0], "x", mat2.sizes()[1], ")");
  check_same_device({&self, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(),
           "expected m1 and m2 to have the same dtype, but got: ", c_name(self.dtype()),
           " != ", c_name(mat2.dtype()));
  const int64_t sizes[] = {self.sizes()[0], mat2.sizes()[1]};
  out.prepare(sizes, self.dtype(), self.device());
}

void bmm(const Tensor& self, const Tensor& mat2, Output& out) {
  MT_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
  MT_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
  MT_CHECK(self.sizes()[0] == mat2.sizes()[0] && self.sizes()[2] == mat2.sizes()[1],
           "Expected size for first two dimensions of batch2 tensor to be: [", self.sizes()[0], ", ",
           self.sizes()[2], "] but got: [", mat2.sizes()[0], ", ", mat2.sizes()[1], "].");
  check_same_device({&self, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(), "expected scalar type ", info(self.dtype()).legacy, " but found ",
           info(mat2.dtype()).legacy);
  const int64_t sizes[] = {self.sizes()[0], self.sizes()[1], mat2.sizes()[2]};
  out.prepare(sizes, self.dtype(), self.device());
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&, const Scalar&,
           Output& out) {
  MT_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  MT_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  MT_CHECK(mat1.sizes()[1] == mat2.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", mat1.sizes()[0],
           "x", mat1.sizes()[1], " and ", mat2.sizes()[0], "x", mat2.sizes()[1], ")");
  check_same_device({&self, &mat1, &mat2});
  MT_CHECK(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got ",
           info(self.dtype()).legacy, " and ", info(mat2.dtype()).legacy);
  MT_CHECK(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
           info(mat1.dtype()).legacy, " and ", info(mat2.dtype()).legacy);
  const int64_t sizes[] = {mat1.sizes()[0], mat2.sizes()[1]};
  const Dims meeting = broadcast(self.sizes(), sizes);
  MT_CHECK(std::ranges::equal(meeting, sizes), "The expanded size of the tensor (", to_string(sizes),
           ") must match the existing size ", to_string(self.sizes()));
  out.prepare(sizes, mat1.dtype(), mat1.device());
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar&, const Scalar&,
             Output& out) {
  MT_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  MT_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  const IntList a = batch1.sizes(), b = batch2.sizes();
  MT_CHECK(a[0] == b[0] && a[2] == b[1], "Expected size for first two dimensions of batch2 tensor to be: [",
           a[0], ", ", a[2], "] but got: [", b[0], ", ", b[1], "].");
  check_same_device({&self, &batch1, &batch2});
  MT_CHECK(self.dtype() == batch1.dtype() && self.dtype() == batch2.dtype(), "expected scalar type ",
           info(self.dtype()).legacy, " but found ",
           info(self.dtype() == batch1.dtype() ? batch2.dtype() : batch1.dtype()).legacy);
  const int64_t sizes[] = {a[0], a[1], b[2]};
  const IntList own = self.sizes();
  MT_CHECK(own.size() <= 3,
           "The number of sizes provided (3) must be greater or equal to the number of dimensions "
           "in the tensor (",
           own.size(), ")");
  for (size_t back = 1; back <= own.size(); ++back) {
    const int64_t have = own[own.size() - back], want = sizes[3 - back];
    MT_CHECK(have == want || have == 1, "The expanded size of the tensor (", want,
             ") must match the existing size (", have, ") at non-singleton dimension ", 3 - back,
             ".  Target sizes: ", to_string(sizes), ".  Tensor sizes: ", to_string(own));
  }
  out.prepare(sizes, self.dtype(), self.device());
}

void linalg_cross(const Tensor& self, const Tensor& other, int64_t dim, Output& out) {
  MT_CHECK(self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  MT_CHECK(self.size(dim) == 3 && other.size(dim) == 3, "linalg.cross: inputs dimension ", dim,
           " must have length 3. Got ", self.size(dim), " and ", other.size(dim));
  check_same_device({&self, &other});
  MT_CHECK(self.dtype() == other.dtype(), "expected scalar type ", info(self.dtype()).legacy, " but found ",
           info(other.dtype()).legacy);
  out.prepare(broadcast(self.sizes(), other.sizes()), self.dtype(), self.device());
}

}  // namespace mt::infer
