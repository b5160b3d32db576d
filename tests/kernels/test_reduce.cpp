#include "check.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/reduce.h"

using namespace mt;
using namespace mt::kernels;

namespace {
std::function<float(int64_t)> teeth = [](int64_t i) { return float((i * 37) % 101) - 50.0f; };
}  // namespace

TEST("sum over every choice of dimensions, dense or permuted, equals the plain loop") {
  for (bool permuted : {false, true}) {
    for (int mask = 0; mask < 8; ++mask) {
      Array<float> in({5, 33, 300}, teeth);
      if (permuted) in = in.transposed();
      std::vector<int64_t> shape = in.sizes;
      for (int d = 0; d < 3; ++d) {
        if (mask >> d & 1) shape[d] = 1;
      }
      Array<float> out(shape, -1.0f);
      reduce<sum_op>(in.view(), out.view());
      Array<double> wanted(shape, 0.0);
      for (int64_t i = 0; i < in.sizes[0]; ++i)
        for (int64_t j = 0; j < in.sizes[1]; ++j)
          for (int64_t k = 0; k < in.sizes[2]; ++k) {
            const int64_t at = (shape[0] == 1 ? 0 : i) * out.strides[0] +
                               (shape[1] == 1 ? 0 : j) * out.strides[1] +
                               (shape[2] == 1 ? 0 : k) * out.strides[2];
            wanted[at] += in[i * in.strides[0] + j * in.strides[1] + k * in.strides[2]];
          }
      bool fine = true;
      for (size_t i = 0; i < wanted.data.size(); ++i) fine &= out.data[i] == float(wanted.data[i]);
      CHECK(fine);
    }
  }
}

TEST("long sums keep float accuracy and threads do not change them") {
  const int64_t n = 3000000;
  Array<float> in({n}, 0.1f), out({1});
  reduce<sum_op>(in.view(), out.view());
  CHECK_NEAR(out[0], 0.1f * 3e6, 1.0);
  reduce<mean_op>(in.view(), out.view());
  CHECK(out[0] == 0.1f);
  Array<float> tall({n / 4, 4}, 0.1f), columns({1, 4});
  reduce<sum_op>(tall.view(), columns.view());
  CHECK_NEAR(columns[3], 0.1f * 0.75e6, 0.1);
}

TEST("integers and bools add up in int64, half types without losing small terms") {
  Array<int8_t> in({1000}, int8_t(100));
  Array<int64_t> out({1});
  reduce<sum_op>(in.view(), out.view());
  CHECK(out[0] == 100000);
  Array<char> flags({1000}, char(1));
  reduce<sum_op>(flags.view(), out.view());
  CHECK(out[0] == 1000);
  Array<Half> half({4096}, Half(1.0f)), total({1});
  reduce<sum_op>(half.view(), total.view());
  CHECK(float(total[0]) == 4096.0f);
  Array<float> fraction({4}, 1.75f);
  reduce<sum_op>(fraction.view(), out.view());  // converted to the integer result type first
  CHECK(out[0] == 4);
  Array<float> mean({1});
  reduce<mean_op>(in.view(), mean.view());
  CHECK(mean[0] == 100.0f);
}

TEST("amax, amin, prod, any and all; NaN wins and empty sums are the identity") {
  Array<float> in({3, 40}, teeth), out({3, 1});
  reduce<amax_op>(in.view(), out.view());
  float best = -1e9f;
  for (int i = 40; i < 80; ++i) best = std::max(best, in[i]);
  CHECK(out[1] == best);
  in[45] = NAN;
  reduce<amax_op>(in.view(), out.view());
  CHECK(std::isnan(out[1]) && !std::isnan(out[0]));
  reduce<amin_op>(in.view(), out.view());
  CHECK(std::isnan(out[1]) && !std::isnan(out[2]));
  Array<int32_t> four({4}, 3);
  Array<int64_t> product({1});
  reduce<prod_op>(four.view(), product.view());
  CHECK(product[0] == 81);
  Array<char> flag({1});
  four.data = {0, 0, 5, 0};
  reduce<any_op>(four.view(), flag.view());
  CHECK(flag[0] == 1);
  reduce<all_op>(four.view(), flag.view());
  CHECK(flag[0] == 0);
  Array<float> none({0, 3}), sums({1, 3}, 9.0f);
  reduce<sum_op>(none.view(), sums.view());
  CHECK(sums[0] == 0 && sums[2] == 0);
  reduce<mean_op>(none.view(), sums.view());
  CHECK(std::isnan(sums[1]));
  reduce<all_op>(none.view(), sums.view());
  CHECK(sums[0] == 1);
  CHECK_FAILS(reduce<amax_op>(none.view(), sums.view()), "no elements");
  Array<int64_t> ints({2}), one({1});
  CHECK_FAILS(reduce<mean_op>(ints.view(), one.view()), "\"mean\" not implemented for 'Long'");
}

TEST("a reduction may write a strided result and read an expanded input") {
  Array<float> in({1, 6}, 2.0f), out({6}, 0.0f);
  in.sizes = {50, 6}, in.strides = {0, 1};
  out.sizes = {1, 3}, out.strides = {6, 2};
  Array<float> wide({50, 3}, 1.0f);
  reduce<sum_op>(wide.view(), out.view());
  CHECK(out.data[0] == 50 && out.data[1] == 0 && out.data[4] == 50);
  Array<float> all({1, 1});
  reduce<sum_op>(in.view(), all.view());
  CHECK(all[0] == 600);
}

TEST("argmax takes the first of equals, NaN before all, flat or along a dimension") {
  Array<float> in({2, 4});
  in.data = {1, 5, 5, 2, 0, NAN, 9, NAN};
  Array<int64_t> at({2, 1}), flat(std::vector<int64_t>{}), across({4});
  arg_reduce(true, in.view(), at.view(), 1);
  CHECK(at[0] == 1 && at[1] == 1);
  arg_reduce(false, in.view(), across.view(), 0);
  CHECK(across[0] == 1 && across[1] == 1 && across[2] == 0 && across[3] == 1);
  arg_reduce(true, in.view(), flat.view(), -1);
  CHECK(flat[0] == 5);
  Array<float> t = in.transposed();  // [4, 2]: flat order is by logical position
  arg_reduce(true, t.view(), flat.view(), -1);
  CHECK(flat[0] == 3);
  Array<float> values({2});
  Array<int64_t> indices({2});
  max_min_dim(false, in.view(), 1, values.view(), indices.view());
  CHECK(values[0] == 1 && indices[0] == 0 && std::isnan(values[1]) && indices[1] == 1);
  Array<float> none({2, 0});
  CHECK_FAILS(arg_reduce(true, none.view(), at.view(), 1), "non-zero size");
}
