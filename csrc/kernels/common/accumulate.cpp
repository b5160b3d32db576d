#include "kernels/common/accumulate.h"

#include "kernels/common/arithmetic.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

template <class T>
void add_row(char* const* data, const int64_t* strides, int64_t n, const void*) {
  using C = compute_t<T>;
  for (int64_t i = 0; i < n; ++i) {
    T& to = *reinterpret_cast<T*>(data[0] + i * strides[0]);
    const T& from = *reinterpret_cast<const T*>(data[1] + i * strides[1]);
    if constexpr (std::is_same_v<T, bool>) to = to || from;
    else to = cast<T>(math::add(C(to), C(from)));
  }
}

}  // namespace

void add_into(const View& src, const View& dst, bool shared) {
  MT_CHECK(src.dtype == dst.dtype, "add_into: dtypes differ, ", info(src.dtype).name, " and ",
           info(dst.dtype).name);
  const View* operands[] = {&dst, &src};
  Plan plan;
  make_plan(plan, operands, 2);
  if (plan.numel == 0) return;
  dispatch<domains::every>(dst.dtype, "add", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (shared) for_each_row_in(plan, 0, plan.numel, add_row<T>, nullptr);
    else for_each_row(plan, kGrain, add_row<T>, nullptr);
  });
}

}  // namespace mt::kernels
