#include "check.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/matmul/bfloat16_product.h"
#include "kernels/matmul/matmul.h"

using namespace mt;
using namespace mt::kernels;

namespace {

template <class T>
Array<T> matrix(int64_t rows, int64_t columns, int layout) {
  Array<T> a({rows, columns},
             std::function<T(int64_t)>([](int64_t i) { return cast<T>(float((i * 7) % 11 - 5)); }));
  if (layout == 1) {  // column-major
    a.strides = {1, rows};
  } else if (layout == 2) {  // every second element of every row
    a.data.resize(size_t(rows * columns * 2));
    for (size_t i = 0; i < a.data.size(); ++i) a.data[i] = cast<T>(float(i % 9) - 4.0f);
    a.strides = {columns * 2, 2};
  } else if (layout == 3) {  // rows that repeat
    a.strides = {0, 1};
  }
  return a;
}

template <class T>
T& element(Array<T>& a, int64_t i, int64_t j) {
  return a[i * a.strides[0] + j * a.strides[1]];
}

template <class T>
void check_product(int64_t m, int64_t n, int64_t k, int la, int lb, int lc) {
  using W = std::conditional_t<is_complex_v<T>, complex128, double>;
  Array<T> a = matrix<T>(m, k, la), b = matrix<T>(k, n, lb), c = matrix<T>(m, n, lc);
  Array<T> before = c;
  gemm(a.view(), b.view(), c.view(), Scalar(int64_t(2)), Scalar(int64_t(-1)));
  bool fine = true;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      W sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += cast<W>(element(a, i, p)) * cast<W>(element(b, p, j));
      const T wanted = cast<T>(W(2.0) * sum - cast<W>(element(before, i, j)));
      fine &= cast<W>(element(c, i, j)) == cast<W>(wanted);
    }
  }
  if (!fine)
    std::printf("  %s %ldx%ldx%ld layouts %d %d %d\n", info(dtype_of<T>).name, long(m), long(n), long(k), la,
                lb, lc);
  CHECK(fine);
}

}  // namespace

TEST("products are exact on small integers in every dtype, layout and size class") {
  for (int64_t m : {1, 4, 20}) {
    for (int64_t k : {1, 5, 33}) {
      for (int la : {0, 1, 2, 3}) {
        for (int lb : {0, 1, 2, 3}) {
          for (int lc : {0, 1, 2}) {
            check_product<float>(m, 17, k, la, lb, lc);
            check_product<double>(m, 1, k, la, lb, lc);
          }
        }
      }
      check_product<complex64>(m, 9, k, 0, 1, 1);
      check_product<complex128>(m, 9, k, 1, 0, 0);
      check_product<int64_t>(m, 9, k, 1, 2, 1);
      check_product<int32_t>(m, 600, k, 0, 0, 0);
      check_product<Half>(m, 9, k, 1, 0, 2);
      check_product<BFloat16>(m, 3, 5, 1, 0, 2);
    }
  }
}

TEST("small products are exact whether rows fill vectors or not, and in batches") {
  for (int64_t n : {1, 2, 3, 4, 5, 8, 12, 16}) {
    for (int64_t m : {1, 3, 4, 8, 16}) {
      for (int layout : {0, 1, 2}) {
        check_product<float>(m, n, 7, layout, 0, 0);
        check_product<double>(m, n, 8, 0, layout, 1);
        check_product<complex64>(m, n, 8, 0, layout, layout);
        check_product<complex128>(m, n, 5, layout, 1, 0);
        check_product<int64_t>(m, n, 8, 1, layout, 0);
        check_product<int8_t>(m, n, 3, 0, layout, 2);
      }
    }
  }
  Array<complex64> a({5, 3, 3}), b({5, 3, 3}), c({5, 3, 3}, complex64(NAN, NAN));
  for (int64_t i = 0; i < 45; ++i) a[i] = complex64(0, float(i)), b[i] = complex64(float(i % 9 % 4 == 0), 0);
  bmm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0));
  for (int64_t i = 0; i < 45; ++i) CHECK(c[i] == complex64(0, float(i)));
}

TEST("a row of complex numbers times a column, with and without steps between them") {
  for (int64_t n : {1, 7, 600, 5000}) {
    for (int64_t step : {1, 3}) {
      Array<complex64> a({1, n * step}), b({n, step});
      complex128 wanted = 0;
      for (int64_t i = 0; i < n * step; ++i)
        a[i] = complex64(float(i % 5), float(i % 3)), b[i] = complex64(float(i % 7), float(i % 4) - 2);
      for (int64_t i = 0; i < n * step; i += step) wanted += complex128(a[i]) * complex128(b[i]);
      a.sizes[1] = n, a.strides[1] = step, b.sizes[1] = 1;
      Array<complex64> c({1, 1});
      gemm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0));
      CHECK(complex128(c[0]) == wanted);
    }
  }
}

TEST("beta zero does not read the result and an empty inner dimension gives beta times it") {
  Array<float> a({20, 20}, 1.0f), b({20, 20}, 1.0f), c({20, 20}, NAN);
  gemm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0));
  CHECK(c[0] == 20 && c[399] == 20);
  Array<float> x({2, 0}), y({0, 3}), z({2, 3}, 4.0f);
  gemm(x.view(), y.view(), z.view(), Scalar(1.0), Scalar(0.5));
  CHECK(z[0] == 2 && z[5] == 2);
  gemm(x.view(), y.view(), z.view(), Scalar(1.0), Scalar(0.0));
  CHECK(z[3] == 0);
  Array<float> none({0, 3}), out({0, 3}), square({3, 3});
  gemm(none.view(), square.view(), out.view(), Scalar(1.0), Scalar(0.0));
}

TEST(
    "packed products are exact on small integers in every layout, also where tiles and slices do not come "
    "out even") {
  for (int la : {0, 1, 2, 3}) {
    for (int lb : {0, 1, 2, 3}) {
      for (int lc : {0, 1, 2}) check_product<float>(67, 59, 270, la, lb, lc);
    }
  }
  for (int layout : {0, 1, 2}) {
    check_product<Half>(67, 59, 270, layout, 2 - layout, 0);
    check_product<BFloat16>(5, 700, 300, layout, layout, 1);
  }
  struct Size {
    int64_t m, n, k;
  };
  // Few rows, few columns, a short and a long inner dimension, whole tiles, and one more or less than those.
  for (const Size& s :
       {Size{1, 2100, 513}, Size{3, 500, 700}, Size{8, 960, 140}, Size{2100, 1, 513}, Size{500, 9, 300},
        Size{64, 192, 256}, Size{65, 193, 257}, Size{129, 47, 255}, Size{700, 800, 2}}) {
    for (int la : {0, 1}) {
      for (int lb : {0, 1}) {
        check_product<float>(s.m, s.n, s.k, la, lb, la);
        check_product<double>(s.m, s.n, s.k, la, lb, lb);
      }
    }
  }
}

TEST("a product too large to be packed at once is multiplied in slabs") {
  check_product<float>(2, 30, 70000, 0, 0, 0);
  check_product<float>(66, 4100, 12, 0, 1, 0);
  Array<float> a({65, 1100}, 1.0f), b({1100, 4100}, 2.0f), c({65, 4100}, 3.0f);
  for (int64_t p = 0; p < 1100; ++p) b[p * 4100 + 4090] = float(p % 7);
  gemm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(1.0));
  CHECK(c[0] == 2203 && c[64 * 4100 + 4099] == 2203 && c[64 * 4100 + 4090] == 3 + 3297);
}

TEST("infinities and NaN reach the elements they belong to and no others") {
  const int64_t m = 67, n = 59, k = 300;
  Array<float> a({m, k}, 1.0f), b({k, n}, 0.0f), c({m, n}, NAN);
  a[3 * k + 280] = INFINITY;  // row 3 meets zeros: NaN
  a[66 * k + 1] = NAN;        // the last row
  b[7 * n + 58] = INFINITY;   // the last column: infinite, or NaN in those rows
  gemm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0));
  bool fine = true;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const float x = c[i * n + j];
      fine &= i == 3 || i == 66 ? std::isnan(x) : j == 58 ? x == INFINITY : x == 0;
    }
  }
  CHECK(fine);
  gemm(a.view(), b.view(), c.view(), Scalar(0.0), Scalar(0.0));  // as in BLAS, nothing is multiplied
  CHECK(c[3 * n] == 0 && c[66 * n + 58] == 0);
}

TEST("a product is the same to the last bit on any number of threads") {
  const int before = get_num_threads();
  const auto value = std::function<float(int64_t)>([](int64_t i) { return 1.0f / float(i % 1013 + 3); });
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{300, 210}, {20, 900}, {900, 20}}) {
    Array<float> a({m, 700}, value), b({700, n}, value), first({m, n}), again({m, n});
    set_num_threads(1);
    gemm(a.view(), b.view(), first.view(), Scalar(0.7), Scalar(0.0));
    for (int threads : {2, 3, 7}) {
      set_num_threads(threads);
      gemm(a.view(), b.view(), again.view(), Scalar(0.7), Scalar(0.0));
      CHECK(first.data == again.data);
    }
  }
  set_num_threads(before);
}

TEST("pairs of bfloat16 are multiplied, wherever the factors lie") {
  std::vector<const PairTiles*> all = {&portable_tiles};
  if (pair_tiles()) all.push_back(pair_tiles());
  for (const PairTiles* tiles : all) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{32, 32, 32},
                                  {16, 16, 33},
                                  {45, 70, 95},
                                  {130, 33, 64},
                                  {20, 50, 1100},
                                  {33, 4130, 40}}) {
      for (int layout = 0; layout < 4;
           ++layout) {  // of b: rows, columns, columns of odd strides, every other element
        const int64_t step = layout == 3 ? 2 : 1, odd = layout == 2 && k % 2 == 0;
        const int64_t row_stride = layout == 1 || layout == 2 ? 1 : n * step;
        const int64_t column_stride = layout == 1 || layout == 2 ? k + odd : step;
        std::vector<BFloat16> a(size_t(m * k)), b(size_t((k + 1) * n * 2));
        for (size_t i = 0; i < a.size(); ++i) a[i] = BFloat16(float(int(i * 7 % 31) - 15) / 8);
        for (size_t i = 0; i < b.size(); ++i) b[i] = BFloat16(float(int(i * 5 % 29) - 14) / 4);
        std::vector<BFloat16> c(size_t(m * n), BFloat16(2.0f));
        pair_product(*tiles, m, n, k, 0.5f, {a.data(), k, 1, DType::bfloat16},
                     {b.data(), row_stride, column_stride, DType::bfloat16}, 3.0f, {c.data(), n, 1});
        bool right = true;
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum +=
                  double(float(a[size_t(i * k + p)])) * float(b[size_t(p * row_stride + j * column_stride)]);
            right &= std::abs(float(c[size_t(i * n + j)]) - (0.5 * sum + 6)) <=
                     0.004 * std::abs(0.5 * sum + 6) + 1e-3;
          }
        }
        CHECK(right);
      }
    }
  }
}

TEST("integer products wrap") {
  Array<uint8_t> a({1, 3}, uint8_t(100)), b({3, 1}, uint8_t(100)), c({1, 1});
  gemm(a.view(), b.view(), c.view(), Scalar(int64_t(1)), Scalar(int64_t(0)));
  CHECK(c[0] == uint8_t(30000));
}

TEST("batches multiply matrix by matrix, with expanded operands") {
  Array<float> a({6, 3, 4}, std::function<float(int64_t)>([](int64_t i) { return float(i % 5); })),
      b({1, 4, 2}, 1.0f), c({6, 3, 2});
  b.sizes[0] = 6, b.strides[0] = 0;
  bmm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0));
  for (int64_t i = 0; i < 6; ++i)
    CHECK(c[i * 6] == a[i * 12] + a[i * 12 + 1] + a[i * 12 + 2] + a[i * 12 + 3]);
  Array<double> x({4, 70, 70}, 0.5), y({4, 70, 70}, 2.0), z({4, 70, 70});
  bmm(x.view(), y.view(), z.view(), Scalar(1.0), Scalar(0.0));
  CHECK(z[0] == 70 && z[19599] == 70);
}

TEST("shapes and dtypes that do not fit are refused") {
  Array<float> a({2, 3}), b({4, 5}), c({2, 5});
  CHECK_FAILS(gemm(a.view(), b.view(), c.view(), Scalar(1.0), Scalar(0.0)),
              "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  Array<double> d({3, 5});
  CHECK_FAILS(gemm(a.view(), d.view(), c.view(), Scalar(1.0), Scalar(0.0)), "same dtype");
  Array<char> f({3, 3}), g({3, 3});
  CHECK_FAILS(gemm(f.view(), f.view(), g.view(), Scalar(int64_t(1)), Scalar(int64_t(0))),
              "not implemented for 'Bool'");
}
