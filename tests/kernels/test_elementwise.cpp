#include <limits>

#include "check.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

using namespace mt;
using namespace mt::kernels;

namespace {

const Scalar kOne(int64_t(1));
std::function<float(int64_t)> ramp(float step) {
  return [=](int64_t i) { return step * float(i); };
}

}  // namespace

TEST("add works on dense, transposed, sliced and broadcast operands of any length") {
  for (int64_t rows : {1, 3, 40}) {
    for (int64_t columns : {1, 5, 16, 300, 2000}) {
      Array<float> a({rows, columns}, ramp(1)), b({columns, rows}, ramp(0.5f)), row({columns}, ramp(2)),
          column({rows, 1}, ramp(3));
      Array<float> out({rows, columns}), single(std::vector<int64_t>{}, 7.0f);
      Array<float> bt = b.transposed();
      const auto add = [&](View x, View y) { binary<add_op>(x, y, out.view(), DType::float32, &kOne); };
      bool fine = true;
      add(a.view(), bt.view());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          fine &= out[i * columns + j] == a[i * columns + j] + b[j * rows + i];
      add(a.view(), row.view());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) fine &= out[i * columns + j] == a[i * columns + j] + row[j];
      add(column.view(), a.view());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) fine &= out[i * columns + j] == a[i * columns + j] + column[i];
      add(single.view(), a.view());
      for (int64_t i = 0; i < rows * columns; ++i) fine &= out[i] == a[i] + 7;
      add(row.view(), column.view());
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) fine &= out[i * columns + j] == row[j] + column[i];
      CHECK(fine);
    }
  }
}

TEST("large inputs are split over threads and give every element once") {
  const int64_t n = 300007;
  Array<float> a({n}, ramp(1)), b({n}, 2.0f), out({n});
  binary<mul_op>(a.view(), b.view(), out.view(), DType::float32);
  bool fine = true;
  for (int64_t i = 0; i < n; ++i) fine &= out[i] == 2.0f * float(i);
  Array<float> single({1}, 3.0f);
  binary<mul_op>(a.view(), single.view(), out.view(), DType::float32);
  for (int64_t i = 0; i < n; ++i) fine &= out[i] == 3.0f * float(i);
  CHECK(fine);
}

TEST("results may be strided, reversed or one of the operands") {
  Array<float> a({4}, ramp(1)), wide({8}, -1.0f), out({4});
  wide.sizes = {4}, wide.strides = {2};
  binary<add_op>(a.view(), a.view(), wide.view(), DType::float32, &kOne);
  CHECK(wide.data[6] == 6 && wide.data[7] == -1 && wide.data[1] == -1);
  a.strides = {-1}, a.offset = 3;
  unary<neg_op>(a.view(), out.view());
  CHECK(out[0] == -3 && out[3] == 0);
  Array<float> x({1000}, ramp(1));
  binary<add_op>(x.view(), x.view(), x.view(), DType::float32, &kOne);
  CHECK(x[999] == 1998 && x[1] == 2);
}

TEST("mixed dtypes are computed in the given type and stored in the result's") {
  Array<int64_t> i({300}, std::function<int64_t(int64_t)>([](int64_t k) { return k; }));
  Array<Half> h({300}, Half(0.5f));
  Array<double> d({300});
  Array<int32_t> n({300});
  binary<add_op>(i.view(), h.view(), d.view(), DType::float32, &kOne);
  CHECK(d[299] == 299.5 && d[0] == 0.5);
  binary<mul_op>(i.view(), h.view(), n.view(), DType::float32);
  CHECK(n[299] == 149);
  Array<float> f({300});
  unary<exp_op>(i.view(), f.view());  // exp of integers into floats
  CHECK_NEAR(f[1], 2.718281828, 1e-6);
  Array<complex64> c({2}, complex64(3, 4));
  Array<float> magnitude({2});
  unary<abs_op>(c.view(), magnitude.view());
  CHECK(magnitude[0] == 5.0f);
}

TEST("alpha scales the second operand and bool addition is or") {
  Array<int32_t> a({3}, 10), b({3}, 3), out({3});
  const Scalar alpha(int64_t(2));
  binary<sub_op>(a.view(), b.view(), out.view(), DType::int32, &alpha);
  CHECK(out[0] == 4);
  Array<char> x({2}, char(1)), y({2}, char(1)), z({2});
  binary<add_op>(x.view(), y.view(), z.view(), DType::boolean, &kOne);
  CHECK(z[0] == 1);
  binary<mul_op>(x.view(), y.view(), z.view(), DType::boolean);
  CHECK(z[1] == 1);
}

// See Note [Numbers and half precision].
template <class H>
float scaled_by(float alpha, H b) {
#if defined(__x86_64__)
  return alpha * float(b);
#else
  return float(H(alpha * float(b)));
#endif
}

template <class H>
void check_products_with_alpha(DType dtype) {
  const Scalar tenth(-0.1);
  const float alpha = float(H(-0.1f));
  Array<H> a({700}), b({700}), sum({700}), difference({700}), reflected({700});
  for (int i = 0; i < 700; ++i) a[i] = H(0.37f * float(i) - 100.0f), b[i] = H(5.3f - 0.11f * float(i));
  binary<add_op>(a.view(), b.view(), sum.view(), dtype, &tenth);
  binary<sub_op>(a.view(), b.view(), difference.view(), dtype, &tenth);
  binary<rsub_op>(a.view(), b.view(), reflected.view(), dtype, &tenth);
  int wrong = 0;
  for (int i = 0; i < 700; ++i) {
    wrong += sum[i].bits != H(float(a[i]) + scaled_by(alpha, b[i])).bits;
    wrong += difference[i].bits != H(float(a[i]) - scaled_by(alpha, b[i])).bits;
    wrong += reflected[i].bits != H(float(b[i]) - scaled_by(alpha, a[i])).bits;
  }
  CHECK(wrong == 0);
}

TEST("a product with alpha is rounded to the half type where PyTorch has no vectors of half numbers") {
  check_products_with_alpha<Half>(DType::float16);
  check_products_with_alpha<BFloat16>(DType::bfloat16);
}

TEST("integers wrap, divide as Python does and refuse to divide by zero") {
  Array<int8_t> a({4}, int8_t(0)), b({4}, int8_t(0)), out({4});
  a.data = {127, -7, 7, -128}, b.data = {1, 2, -2, -1};
  binary<add_op>(a.view(), b.view(), out.view(), DType::int8, &kOne);
  CHECK(out[0] == -128);
  binary<floor_divide_op>(a.view(), b.view(), out.view(), DType::int8);
  CHECK(out[1] == -4 && out[2] == -4 && out[3] == -128);
  binary<remainder_op>(a.view(), b.view(), out.view(), DType::int8);
  CHECK(out[1] == 1 && out[2] == -1 && out[3] == 0);
  binary<fmod_op>(a.view(), b.view(), out.view(), DType::int8);
  CHECK(out[1] == -1 && out[2] == 1);
  b.data = {0, 1, 1, 1};
  CHECK_FAILS(binary<remainder_op>(a.view(), b.view(), out.view(), DType::int8), "ZeroDivisionError");
  a.data = {2, -1, 3, 0}, b.data = {6, -3, -1, 0};
  binary<pow_op>(a.view(), b.view(), out.view(), DType::int8);
  CHECK(out[0] == 64 && out[1] == -1 && out[2] == 0 && out[3] == 1);
}

TEST("floating point division rounds down, takes the divisor's sign and passes infinities") {
  Array<float> a({4}), b({4}), out({4});
  a.data = {-7.5f, 7.5f, 1.0f, -1.0f}, b.data = {2.0f, -2.0f, 0.0f, INFINITY};
  binary<floor_divide_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(out[0] == -4 && out[1] == -4 && out[2] == INFINITY && out[3] == -1);
  binary<remainder_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(out[0] == 0.5f && out[1] == -0.5f && std::isnan(out[2]));
}

TEST("maximum, minimum and clamp propagate NaN") {
  Array<float> a({3}), b({3}), out({3});
  a.data = {NAN, 1, 2}, b.data = {0, NAN, 5};
  binary<maximum_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(std::isnan(out[0]) && std::isnan(out[1]) && out[2] == 5);
  binary<minimum_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(std::isnan(out[0]) && std::isnan(out[1]) && out[2] == 2);
  const Scalar limits[] = {Scalar(0.5), Scalar(1.5)}, bad[] = {Scalar(double(NAN)), Scalar(1.0)};
  unary<clamp_op>(a.view(), out.view(), limits);
  CHECK(std::isnan(out[0]) && out[1] == 1 && out[2] == 1.5f);
  unary<clamp_op>(a.view(), out.view(), bad);
  CHECK(std::isnan(out[2]));
}

TEST("comparisons and predicates write bools") {
  Array<float> a({3}), b({1}, 1.0f);
  a.data = {0, 1, NAN};
  Array<char> out({3});
  compare<lt_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(out[0] == 1 && out[1] == 0 && out[2] == 0);
  compare<eq_op>(a.view(), b.view(), out.view(), DType::float32);
  CHECK(out[0] == 0 && out[1] == 1 && out[2] == 0);
  predicate<isnan_op>(a.view(), out.view());
  CHECK(out[0] == 0 && out[2] == 1);
  predicate<logical_not_op>(a.view(), out.view());
  CHECK(out[0] == 1 && out[1] == 0 && out[2] == 0);
  Array<float> as_float({3});
  compare<logical_and_op>(a.view(), b.view(), as_float.view(), DType::float32);
  CHECK(as_float[0] == 0 && as_float[1] == 1 && as_float[2] == 1);
}

TEST("where picks by condition over broadcast operands of other dtypes") {
  Array<char> condition({2, 1}), odd({2});
  condition.data = {1, 0};
  Array<int32_t> a({3}, 4);
  Array<double> b(std::vector<int64_t>{}, 0.25);
  Array<float> out({2, 3});
  where(condition.view(), a.view(), b.view(), out.view());
  CHECK(out[0] == 4 && out[2] == 4 && out[3] == 0.25f && out[5] == 0.25f);
}

TEST("rounding, signs, powers and backward formulas follow their definitions") {
  Array<float> a({4}), b({4}), out({4});
  a.data = {0.5f, 1.5f, -2.5f, -0.2f};
  unary<round_op>(a.view(), out.view());
  CHECK(out[0] == 0 && out[1] == 2 && out[2] == -2);
  unary<sign_op>(a.view(), out.view());
  CHECK(out[0] == 1 && out[2] == -1);
  const Scalar three(3.0), zero(0.0);
  unary<pow_scalar_op>(a.view(), out.view(), &three);
  CHECK(out[1] == 3.375f);
  b.data = {-1, 0, 2, 3};
  binary<threshold_backward_op>(a.view(), b.view(), out.view(), DType::float32, &zero);
  CHECK(out[0] == 0 && out[1] == 0 && out[2] == -2.5f && out[3] == -0.2f);
  Array<char> t({2});
  t.data = {0, 1};
  Array<char> u({2});
  unary<bitwise_not_op>(t.view(), u.view());
  CHECK(u[0] == 1 && u[1] == 0);
}

TEST("half types compute in float and round once") {
  Array<Half> a({20}, Half(1.0f)), b({20}, Half(0.00048828125f)), out({20});
  binary<add_op>(a.view(), b.view(), out.view(), DType::float16, &kOne);
  CHECK(float(out[19]) == 1.0f);  // halfway, to even
  Array<BFloat16> c({20}, BFloat16(3.0f)), d({20});
  unary<exp_op>(c.view(), d.view());
  CHECK(float(d[0]) == 20.125f && float(d[19]) == 20.125f);
}

TEST("empty tensors are left alone and unsupported dtypes are named") {
  Array<float> none({0, 3}), out({0, 3});
  binary<add_op>(none.view(), none.view(), out.view(), DType::float32, &kOne);
  unary<exp_op>(none.view(), out.view());
  Array<int64_t> i({2});
  CHECK_FAILS(unary<exp_op>(i.view(), i.view()), "\"exp\" not implemented for 'Long'");
  Array<complex64> c({2});
  Array<char> flags({2});
  CHECK_FAILS(compare<lt_op>(c.view(), c.view(), flags.view(), DType::complex64),
              "\"lt\" not implemented for 'ComplexFloat'");
  Array<float> three({3}), four({4});
  CHECK_FAILS(binary<add_op>(three.view(), four.view(), four.view(), DType::float32, &kOne),
              "cannot be broadcast");
}

TEST("narrow rows are iterated in bands, the last one shorter, and give every element once") {
  for (int64_t rows : {31, 32, 511, 512, 513, 100'000}) {
    for (int64_t width : {1, 2, 3, 8, 9}) {
      Array<float> a({2, rows, width}, ramp(1)), b({rows, 1}, ramp(3)), out({2, rows, width});
      binary<add_op>(a.view(), b.view(), out.view(), DType::float32, &kOne);
      int64_t wrong = 0;
      for (int64_t i = 0; i < 2 * rows * width; ++i) wrong += out[i] != a[i] + b[i / width % rows];
      CHECK(wrong == 0);
    }
  }
}

TEST("sixteen dimensions and more are iterated") {
  std::vector<int64_t> shape(20, 1);
  shape[3] = 3, shape[9] = 2, shape[19] = 4;
  Array<float> a(shape, ramp(1)), out(shape);
  std::swap(a.strides[3], a.strides[19]);
  a.strides = out.strides;
  unary<neg_op>(a.view(), out.view());
  CHECK(out[23] == -23 && out[1] == -1);
  Array<float> too_many(std::vector<int64_t>(65, 2 - 1)), copy({1});
  too_many.strides[0] = 5, too_many.sizes[0] = 1;
  CHECK_FAILS(binary<add_op>(copy.view(), too_many.view(), too_many.view(), DType::float64, &kOne),
              "more than 64 dimensions");
}

TEST("integers are divided exactly, whatever their size") {
  const int64_t big = int64_t(1) << 52, least = INT64_MIN, most = INT64_MAX;
  std::vector<int64_t> divisors = {1, -1, 2, -3, 7, 1000003, -big + 1, big - 1, big, most, least}, dividends;
  for (int64_t d : {int64_t(0), int64_t(1), int64_t(12), big - 1, -big + 1, big, -big, most, -most}) {
    dividends.push_back(d);
    for (int64_t divisor : {3, 7, 1000003})  // around a whole number of times
      for (int64_t more = -1; more <= 1; ++more) {
        int64_t near;
        if (!__builtin_add_overflow(d / divisor * divisor, more, &near) && near != least)
          dividends.push_back(near);
      }
  }
  for (int64_t divisor : divisors) {
    Array<int64_t> a({int64_t(dividends.size())}), b({int64_t(dividends.size())}, divisor), out(a.sizes);
    for (size_t first = 0; first < dividends.size(); ++first) {
      for (size_t i = 0; i < dividends.size(); ++i) a.data[i] = dividends[first];  // a block of one kind
      const int64_t x = dividends[first];
      const int64_t whole = divisor == -1 ? -x : x / divisor, rest = divisor == -1 ? 0 : x % divisor;
      const bool below = rest != 0 && (rest < 0) != (divisor < 0);
      binary<trunc_divide_op>(a.view(), b.view(), out.view(), DType::int64);
      CHECK(out[0] == whole);
      binary<floor_divide_op>(a.view(), b.view(), out.view(), DType::int64);
      CHECK(out[0] == whole - below);
      binary<fmod_op>(a.view(), b.view(), out.view(), DType::int64);
      CHECK(out[0] == rest);
      binary<remainder_op>(a.view(), b.view(), out.view(), DType::int64);
      CHECK(out[0] == (below ? rest + divisor : rest));
    }
  }
  Array<int64_t> a({3}, 5), b({3}), out({3});
  CHECK_FAILS(binary<floor_divide_op>(a.view(), b.view(), out.view(), DType::int64), "ZeroDivisionError");
}
