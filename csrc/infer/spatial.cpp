#include "infer/spatial.h"

namespace mt::infer {

Dims with_spatial(IntList sizes, IntList spatial) {
  Dims result(sizes);
  for (size_t i = 0; i < spatial.size(); ++i) result[result.size() - spatial.size() + i] = spatial[i];
  return result;
}

Dims window_list(IntList list, size_t spatial) {
  return list.size() == 1 ? Dims(spatial, list[0]) : Dims(list);
}

SlidingWindow sliding_window(IntList image, IntList kernel_size, IntList dilation, IntList padding,
                             IntList stride) {
  auto two = [](IntList list, const char* name) {
    MT_CHECK(list.size() == 2, "It is expected ", name, " equals to 2, but got size ", list.size());
  };
  two(kernel_size, "kernel_size"), two(dilation, "dilation"), two(padding, "padding"), two(stride, "stride");
  MT_CHECK(kernel_size[0] > 0 && kernel_size[1] > 0,
           "kernel size should be greater than zero, but got kernel_height: ", kernel_size[0],
           " kernel_width: ", kernel_size[1]);
  MT_CHECK(dilation[0] > 0 && dilation[1] > 0,
           "dilation should be greater than zero, but got dilation_height: ", dilation[0],
           " dilation_width: ", dilation[1]);
  MT_CHECK(padding[0] >= 0 && padding[1] >= 0,
           "padding should be non-negative, but got pad_height: ", padding[0], " pad_width: ", padding[1]);
  MT_CHECK(stride[0] > 0 && stride[1] > 0,
           "stride should be greater than zero, but got stride_height: ", stride[0],
           " stride_width: ", stride[1]);
  SlidingWindow w;
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t value : {kernel_size[i], dilation[i], padding[i], stride[i], image[i]})
      MT_CHECK(value < (int64_t(1) << 30), "sizes of sliding windows must be below 2^30, got ", value);
    w.kernel[i] = kernel_size[i], w.dilation[i] = dilation[i];
    w.padding[i] = padding[i], w.stride[i] = stride[i], w.image[i] = image[i];
    const int64_t room = image[i] + 2 * padding[i] - dilation[i] * (kernel_size[i] - 1) - 1;
    w.places[i] = room < 0 ? (room - stride[i] + 1) / stride[i] + 1 : room / stride[i] + 1;
  }
  return w;
}

}  // namespace mt::infer
