#include "generated/npu/padding.h"

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

namespace mt::npu {
namespace {

// A line as a plane of one row, for operators that have no form for lines.
Tensor raised(const Tensor& lines) { return views::unsqueeze(lines, -2); }
Dims raised(IntList pad) { return {pad[0], pad[1], 0, 0}; }

// Calls the operator of a mode (reflect, replicate, circular) and a number of dimensions.
#define MT_EDGES(name, ...)                           \
  {                                                   \
    MT_ACLNN(name);                                   \
    return aclnn::call(f, out.device(), __VA_ARGS__); \
  }
[[noreturn]] void fail_edges(int64_t mode, size_t dims) {
  fail(ErrorKind::not_implemented, "padding of ", dims, " dimensions in mode ", mode,
       " is not implemented for npu");
}

}  // namespace

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  const size_t dims = pad.size() / 2;
  if (mode == 0 && dims == 1) MT_EDGES(aclnnReflectionPad1d, self, pad, out)
  if (mode == 0 && dims == 2) MT_EDGES(aclnnReflectionPad2d, self, pad, out)
  if (mode == 0 && dims == 3) MT_EDGES(aclnnReflectionPad3d, self, pad, out)
  if (mode == 1 && dims == 1) MT_EDGES(aclnnReplicationPad1d, self, pad, out)
  if (mode == 1 && dims == 2) MT_EDGES(aclnnReplicationPad2d, self, pad, out)
  if (mode == 1 && dims == 3) MT_EDGES(aclnnReplicationPad3d, self, pad, out)
  if (mode == 2 && dims == 1) MT_EDGES(aclnnCircularPad2d, raised(self), raised(pad), raised(out))
  if (mode == 2 && dims == 2) MT_EDGES(aclnnCircularPad2d, self, pad, out)
  if (mode == 2 && dims == 3) MT_EDGES(aclnnCircularPad3d, self, pad, out)
  fail_edges(mode, dims);
}
void extend_edges_backward(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  const size_t dims = pad.size() / 2;
  if (mode == 0 && dims == 1) MT_EDGES(aclnnReflectionPad1dBackward, self, out, pad, out)
  if (mode == 0 && dims == 2) MT_EDGES(aclnnReflectionPad2dBackward, self, out, pad, out)
  if (mode == 0 && dims == 3) MT_EDGES(aclnnReflectionPad3dBackward, self, out, pad, out)
  if (mode == 1 && dims == 1) MT_EDGES(aclnnReplicationPad1dBackward, self, out, pad, out)
  if (mode == 1 && dims == 2) MT_EDGES(aclnnReplicationPad2dBackward, self, out, pad, out)
  if (mode == 1 && dims == 3) MT_EDGES(aclnnReplicationPad3dBackward, self, out, pad, out)
  if (mode == 2 && dims == 1)
    MT_EDGES(aclnnCircularPad2dBackward, raised(self), raised(out), raised(pad), raised(out))
  if (mode == 2 && dims == 2) MT_EDGES(aclnnCircularPad2dBackward, self, out, pad, out)
  if (mode == 2 && dims == 3) MT_EDGES(aclnnCircularPad3dBackward, self, out, pad, out)
  fail_edges(mode, dims);
}
#undef MT_EDGES

}  // namespace mt::npu
