#include "check.h"
#include "kernels/common/copy.h"

using namespace mt;
using namespace mt::kernels;

TEST("copies convert between all kinds of dtypes") {
  Array<double> source({5});
  source.data = {0.0, -1.7, 300.9, NAN, 2.0};
  Array<uint8_t> bytes({5});
  copy(source.view(), bytes.view());
  CHECK(bytes[1] == 255 && bytes[2] == 44 && bytes[4] == 2);
  Array<char> flags({5});
  copy(source.view(), flags.view());
  CHECK(flags[0] == 0 && flags[1] == 1 && flags[3] == 1);
  Array<complex64> c({5});
  copy(source.view(), c.view());
  CHECK(c[1] == complex64(-1.7f, 0));
  Array<Half> h({5});
  copy(c.view(), h.view());
  CHECK(float(h[2]) == 301.0f);
  Array<uint64_t> big({1}, ~uint64_t(0));
  Array<int16_t> small({1});
  copy(big.view(), small.view());
  CHECK(small[0] == -1);
}

TEST("a float becomes the same half number alone and in a row") {
  constexpr int count = (1 << 18) + 3;  // a rest that fills no vector
  Array<float> f({count});
  for (int i = 0; i < count; ++i) f[i] = std::bit_cast<float>(uint32_t(i) * 2654435761u);
  Array<Half> h({count});
  Array<BFloat16> b({count});
  copy(f.view(), h.view());
  copy(f.view(), b.view());
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    if (std::isnan(f[i])) wrong += !std::isnan(float(h[i])) || !std::isnan(float(b[i]));
    else wrong += h[i].bits != Half(f[i]).bits || b[i].bits != BFloat16(f[i]).bits;
  }
  CHECK(wrong == 0);
}

TEST("every float16 survives the way to float and back, and bfloat16 too") {
  Array<Half> h({65536});
  Array<BFloat16> b({65536}), b_back({65536});
  Array<float> f({65536});
  Array<Half> h_back({65536});
  for (int i = 0; i < 65536; ++i) h[i].bits = b[i].bits = uint16_t(i);
  copy(h.view(), f.view());
  copy(f.view(), h_back.view());
  bool fine = true;
  for (int i = 0; i < 65536; ++i)
    fine &= std::isnan(f[i]) ? std::isnan(float(h_back[i])) : h_back[i].bits == h[i].bits;
  copy(b.view(), f.view());
  copy(f.view(), b_back.view());
  for (int i = 0; i < 65536; ++i)
    fine &= std::isnan(f[i]) ? std::isnan(float(b_back[i])) : b_back[i].bits == b[i].bits;
  CHECK(fine);
}

TEST("transposed, permuted, broadcast and strided copies put every element in its place") {
  for (int64_t n : {1, 3, 31, 65, 200}) {
    Array<float> a({n, n + 2}, std::function<float(int64_t)>([](int64_t i) { return float(i); }));
    Array<float> at = a.transposed(), out({n + 2, n});
    copy(at.view(), out.view());
    bool fine = true;
    for (int64_t i = 0; i < n + 2; ++i)
      for (int64_t j = 0; j < n; ++j) fine &= out[i * n + j] == a[j * (n + 2) + i];
    CHECK(fine);
  }
  Array<int16_t> a({4, 40, 50}, std::function<int16_t(int64_t)>([](int64_t i) { return int16_t(i); })),
      out({50, 4, 40});
  a.sizes = {50, 4, 40}, a.strides = {1, 2000, 50};
  copy(a.view(), out.view());
  bool fine = true;
  for (int64_t i = 0; i < 50; ++i)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 40; ++k) fine &= out[(i * 4 + j) * 40 + k] == int16_t(i + j * 2000 + k * 50);
  CHECK(fine);
  Array<float> row({3}, 2.0f), rows({4, 3});
  copy(row.view(), rows.view());
  CHECK(rows[11] == 2);
  Array<double> none({0}), empty({0});
  copy(none.view(), empty.view());
}

TEST("fill and arange write every dtype over any strides") {
  Array<BFloat16> b({6}, BFloat16(0.0f));
  b.sizes = {3}, b.strides = {2};
  fill(b.view(), Scalar(1.5));
  CHECK(float(b.data[4]) == 1.5f && float(b.data[5]) == 0.0f);
  Array<char> flags({5});
  fill(flags.view(), Scalar(int64_t(2)));
  CHECK(flags[4] == 1);
  Array<complex128> c({2});
  fill(c.view(), Scalar(complex128(1, 2)));
  CHECK(c[1] == complex128(1, 2));
  Array<float> f({100000});
  arange(f.view(), Scalar(1.0), Scalar(0.1));
  CHECK(f[99999] == float(1.0 + 99999 * 0.1));
  Array<int64_t> i({4});
  arange(i.view(), Scalar(int64_t(10)), Scalar(int64_t(-3)));
  CHECK(i[0] == 10 && i[3] == 1);
  CHECK_FAILS(arange(flags.view(), Scalar(int64_t(0)), Scalar(int64_t(1))),
              "\"arange\" not implemented for 'Bool'");
}
