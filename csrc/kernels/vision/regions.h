// Boxes of images, for kernels that bring regions to one size.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {

// The boxes [K, 5] of one call: the image, then x1, y1, x2, y2. Every image is one of `images`.
template <class C>
class Boxes {
 public:
  Boxes(const View& boxes, int64_t images, const char* name) : values_(boxes), count_(boxes.sizes[0]) {
    for (int64_t k = 0; k < count_; ++k)
      MT_CHECK_AS(index, at(k)[0] > C(-1) && at(k)[0] < C(images), name, ": box ", k, " names image ",
                  double(at(k)[0]), " of ", images);
  }
  int64_t count() const { return count_; }
  int64_t image(int64_t k) const { return int64_t(at(k)[0]); }
  const C* corners(int64_t k) const { return at(k) + 1; }

  // The boxes of each image.
  std::vector<std::vector<int64_t>> by_image(int64_t images) const {
    std::vector<std::vector<int64_t>> found{size_t(images)};
    for (int64_t k = 0; k < count_; ++k) found[size_t(image(k))].push_back(k);
    return found;
  }

 private:
  const C* at(int64_t k) const { return values_.data() + k * 5; }

  DenseInput<C> values_;
  int64_t count_;
};

// Calls f(box, first channel, end of channels) for all channels of all boxes, on several threads. `work`: of a channel.
template <class F>
void for_each_region(int64_t boxes, int64_t channels, int64_t work, const F& f) {
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(work, 1), 1);
  parallel_for(0, boxes * channels, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t k = begin / channels, stop = std::min(end, (k + 1) * channels);
      f(k, begin - k * channels, stop - k * channels);
      begin = stop;
    }
  });
}

// The same for what adds to the images: two threads never meet in one channel of an image.
template <class C, class F>
void for_each_region_of_images(const Boxes<C>& boxes, int64_t images, int64_t channels, int64_t work,
                               const F& f) {
  const auto listed = boxes.by_image(images);
  const int64_t of_a_plane = work * (1 + boxes.count() / std::max<int64_t>(images, 1));
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(of_a_plane, 1), 1);
  parallel_for(0, images * channels, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t image = begin / channels, stop = std::min(end, (image + 1) * channels);
      for (int64_t k : listed[size_t(image)]) f(k, begin - image * channels, stop - image * channels);
      begin = stop;
    }
  });
}

}  // namespace mt::kernels
