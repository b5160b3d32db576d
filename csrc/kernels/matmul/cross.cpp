#include "kernels/matmul/cross.h"

#include "kernels/common/arithmetic.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/common/without_dim.h"

namespace mt::kernels {
namespace {

// a * b - c * d. Halves are rounded after each step, as PyTorch's are.
template <class T>
[[gnu::always_inline]] inline T difference(T a, T b, T c, T d) {
  if constexpr (std::is_floating_point_v<T>) {
    return math::difference_of_products(a, b, c, d);
  } else {
    using C = compute_t<T>;
    const T first(math::mul(C(a), C(b))), second(math::mul(C(c), C(d)));
    return T(math::sub(C(first), C(second)));
  }
}

template <class T>
struct Vectors {
  T* data;
  int64_t along, next;  // from one of the three to the next, and from vector to vector
};

template <class T>
struct Crosses {
  [[gnu::always_inline]] static inline void run(Vectors<T> to, Vectors<const T> a, Vectors<const T> b,
                                                int64_t n) {
    const auto all = [&](int64_t along, int64_t next) {
      for (const auto& v : {Vectors<const T>{to.data, to.along, to.next}, a, b})
        if (v.next != next || (along && v.along != along)) return false;
      return true;
    };
    if (all(1, 3)) take({to.data, 1, 3}, {a.data, 1, 3}, {b.data, 1, 3}, n);
    else if (all(0, 1)) take({to.data, to.along, 1}, {a.data, a.along, 1}, {b.data, b.along, 1}, n);
    else take(to, a, b, n);
  }

 private:
  // Where the result is one of the operands, a vector is read before it is written.
  [[gnu::always_inline]] static inline void take(Vectors<T> to, Vectors<const T> a, Vectors<const T> b,
                                                 int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T *x = a.data + i * a.next, *y = b.data + i * b.next;
      const T x0 = x[0], x1 = x[a.along], x2 = x[2 * a.along];
      const T y0 = y[0], y1 = y[b.along], y2 = y[2 * b.along];
      T* z = to.data + i * to.next;
      z[0] = difference(x1, y2, x2, y1);
      z[to.along] = difference(x2, y0, x0, y2);
      z[2 * to.along] = difference(x0, y1, x1, y0);
    }
  }
};

struct Along {
  int64_t to, a, b;
};

template <class T>
void cross_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Along& along = *static_cast<const Along*>(context);
  constexpr int64_t item = sizeof(T);
  at_level<Crosses<T>>(Vectors<T>{reinterpret_cast<T*>(data[0]), along.to, strides[0] / item},
                       Vectors<const T>{reinterpret_cast<const T*>(data[1]), along.a, strides[1] / item},
                       Vectors<const T>{reinterpret_cast<const T*>(data[2]), along.b, strides[2] / item}, n);
}

}  // namespace

void cross(const View& a, const View& b, const View& out, int dim) {
  const WithoutDim to(out, dim), left(a, dim), right(b, dim);
  const View* operands[] = {&to.view, &left.view, &right.view};
  Plan plan;
  make_plan(plan, operands, 3);
  const Along along{out.strides[dim], a.strides[dim], b.strides[dim]};
  dispatch<domains::numeric>(out.dtype, "cross", [&](auto tag) {
    if (plan.numel > 0) for_each_row(plan, kGrain / 4, cross_row<typename decltype(tag)::type>, &along);
  });
}

}  // namespace mt::kernels
