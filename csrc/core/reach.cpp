#include "core/reach.h"

namespace mt {

std::atomic<bool> g_storages_shrank{false};

void refuse_reach_beyond_storage(const Tensor& tensor) {
  const size_t item = tensor.itemsize();
  const int64_t reach = checked_reach(tensor.sizes(), tensor.strides(), tensor.offset(), item);
  MT_CHECK(size_t(reach) * item <= tensor.storage().nbytes, "setStorage: sizes ", to_string(tensor.sizes()),
           ", strides ", to_string(tensor.strides()), ", storage offset ", tensor.offset(), ", and itemsize ",
           item, " requiring a storage size of ", size_t(reach) * item,
           " are out of bounds for storage of size ", tensor.storage().nbytes,
           ": the storage was made smaller; resize it before the tensor is used");
}

}  // namespace mt
