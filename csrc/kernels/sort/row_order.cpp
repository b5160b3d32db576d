#include <algorithm>
#include <vector>

#include "kernels/common/types.h"
#include "kernels/sort/sort.h"

namespace mt::kernels {
namespace {

template <class T>
auto row_value(T value) {
  if constexpr (std::is_integral_v<T>) return value;
  else return compute_t<T>(value);
}

// Few places by insertion, as std::sort does it, so that rows with NaN come in the order that PyTorch gives them; more by
// merging, which stays in bounds whatever `before` says.
template <class Before>
void sort_places(std::vector<int64_t>& places, Before&& before) {
  if (places.size() > 16) return std::stable_sort(places.begin(), places.end(), before);
  for (size_t i = 1; i < places.size(); ++i) {
    const int64_t place = places[i];
    size_t at = i;
    if (before(place, places[0])) at = 0;
    else
      while (at > 0 && before(place, places[at - 1])) --at;
    std::move_backward(places.begin() + std::ptrdiff_t(at), places.begin() + std::ptrdiff_t(i),
                       places.begin() + std::ptrdiff_t(i) + 1);
    places[at] = place;
  }
}

}  // namespace

void row_order(const View& rows, const View& order) {
  const int64_t n = rows.sizes[0], width = rows.numel() / std::max<int64_t>(n, 1);
  std::vector<int64_t> places(size_t(n), 0);
  for (int64_t i = 0; i < n; ++i) places[size_t(i)] = i;
  dispatch<domains::every_ordered>(rows.dtype, "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = rows.as<T>();
    // As in PyTorch a NaN is neither before nor after anything, so rows with one stay about where they are.
    sort_places(places, [&](int64_t a, int64_t b) {
      for (int64_t j = 0; j < width; ++j) {
        const auto x = row_value(data[a * width + j]), y = row_value(data[b * width + j]);
        if (x < y) return true;
        if (y < x) return false;
      }
      return false;
    });
  });
  std::copy(places.begin(), places.end(), order.as<int64_t>());
}

}  // namespace mt::kernels
